/** Knows how it is noted whose an object is that a provider has made, before the caller learns of it. */
import type { Owner } from '../objects/owner.ts';
import type { Db } from '../store/connection/db.ts';
import * as ownedObjects from '../store/tables/owned-objects.ts';
import type { AnswerHeaders } from '../upstream/call.ts';
import { EventReader } from '../upstream/dialects/event-reader.ts';
import { NotTranslatable } from '../upstream/dialects/place.ts';
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
    const told = toldObjects(owned, exchange.request.method, answer).filter(
      ({ kind, id }) => !noted.has(`${kind} ${id}`),
    );
    if (told.length === 0) return;
    for (const { kind, id } of told) noted.add(`${kind} ${id}`);
    const rows = told.map(({ kind, id }) => ({
      ...{ organisation_id: owner.organisationId, workspace_id: owner.workspaceId },
      ...{ kind, object_id: id, provider: providerOf(target), api_key_id: owner.apiKeyId },
      ...{ created_at: exchange.now, deleted_at: null },
    }));
    await ownedObjects.insertAll(db, rows);
    await pending?.settle();
  };
  return {
    whole: async (body) => {
      await note(parsed(body.toString('utf8')));
      return carriesMark(owned.kind) ? unmarkedBody(body) : body;
    },
    ofStream: () => {
      const reader = new EventReader();
      let isOver = false;
      return {
        ...{ outlivesCaller: false, isUnwanted: false },
        note: async (bytes) => {
          if (isOver) return;
          const told: string[] = [];
          try {
            reader.push(bytes, (data) => told.push(data));
          } catch (thrown) {
            // An event that is too large to be read is passed on all the same.
            if (!(thrown instanceof NotTranslatable)) throw thrown;
            isOver = true;
          }
          // What a stream makes, it tells of at its beginning, and what a response holds at its end.
          const events = told.filter((data) => noted.size === 0 || lastOfResponse.test(data));
          for (const data of events) await note(inEvent(parsed(data)));
          isOver ||= noted.size > 0 && owned.kind !== 'responses';
        },
        end: async () => Buffer.alloc(0),
      };
    },
  };
}

const lastOfResponse = /"response\.(?:completed|incomplete|failed)"/;

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
