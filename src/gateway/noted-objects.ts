/** Knows how it is noted whose an object is that a provider has made, before the caller learns of it. */
import type { Owner } from '../objects/owner.ts';
import type { Db } from '../store/connection/db.ts';
import * as ownedObjects from '../store/tables/owned-objects.ts';
import type { AnswerHeaders } from '../upstream/call.ts';
import { EventReader } from '../upstream/dialects/event-reader.ts';
import type { Calling } from './calling.ts';
import type { StreamNotes } from './noted-stream.ts';
import { carriesMark, unmarkedBody } from './object-mark.ts';
import type { OwnedPath } from './owned-path.ts';
import { toldObjects } from './owned-references.ts';
import type { PendingObject } from './pending-object.ts';
import { providerOf, type ResolvedTarget } from './resolve-target.ts';

export interface Note {
  /** Yields what of it is shown. */
  whole(body: Buffer, headers: AnswerHeaders): Promise<Buffer>;
  ofStream(): StreamNotes;
}

interface NoteOptions {
  readonly db: Db;
  readonly owner: Owner;
  readonly target: ResolvedTarget;
  /** Told when it is known what was made; null where nothing was asked to be. */
  readonly pending: PendingObject | null;
}

export function noteOf(
  { exchange }: Calling,
  owned: OwnedPath,
  { db, owner, target, pending }: NoteOptions,
): Note {
  const noted = new Set<string>();
  const note = async (answer: unknown): Promise<void> => {
    for (const { kind, id } of toldObjects(owned, exchange.request.method, answer)) {
      if (noted.has(`${kind} ${id}`)) continue;
      noted.add(`${kind} ${id}`);
      await ownedObjects.insert(db, {
        ...{ organisation_id: owner.organisationId, workspace_id: owner.workspaceId },
        ...{ kind, object_id: id, provider: providerOf(target), api_key_id: owner.apiKeyId },
        ...{ created_at: exchange.now, deleted_at: null },
      });
      await pending?.settle();
    }
  };
  return {
    whole: async (body) => {
      await note(parsed(body.toString('utf8')));
      return carriesMark(owned.kind) ? unmarkedBody(body) : body;
    },
    ofStream: () => {
      const reader = new EventReader();
      return {
        ...{ outlivesCaller: false, isUnwanted: false },
        note: async (bytes) => {
          // What a stream makes, it tells of at its beginning.
          if (noted.size > 0) return;
          const told: string[] = [];
          reader.push(bytes, (data) => told.push(data));
          for (const data of told) await note(inEvent(parsed(data)));
        },
        end: async () => Buffer.alloc(0),
      };
    },
  };
}

/** A response stands within its events; a run of a new thread is one. */
function inEvent(event: unknown): unknown {
  return (event as { readonly response?: unknown } | null)?.response ?? event;
}

/** Undefined for what is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
