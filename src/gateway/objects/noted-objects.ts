/** Knows how it is noted whose an object is that a provider has made, before the caller learns of it. */
import { deletedMs, lookAfterMs } from '../../objects/object-lifetimes.ts';
import type { Owner } from '../../objects/owner.ts';
import type { Db } from '../../store/connection/db.ts';
import * as ownedObjects from '../../store/tables/owned-objects.ts';
import type { Calling } from '../answering/calling.ts';
import { unmarkedBody } from '../references/object-mark.ts';
import type { Telling, ToldObject } from '../references/told-objects.ts';
import { accountOf, providerOf, type ResolvedTarget } from '../targets/resolve-target.ts';
import { eventTexts, parsedJson } from '../transfer/event-texts.ts';
import type { StreamNotes } from './noted-stream.ts';
import type { PendingObject } from './pending-object.ts';

export interface Note {
  /** Yields what of it is shown. */
  whole(body: Buffer): Promise<Buffer>;
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
  { exchange }: Pick<Calling, 'exchange'>,
  telling: Telling,
  { db, owner, target, pending }: NoteOptions,
): Note {
  const noted = new Set<string>();
  const note = async (objects: readonly ToldObject[]): Promise<void> => {
    const told = objects.filter(({ kind, id }) => !noted.has(`${kind} ${id}`));
    if (told.length === 0) return;
    for (const { kind, id } of told) noted.add(`${kind} ${id}`);
    await ownedObjects.insertAll(db, rowsOf(told, { owner, target, now: exchange.now }));
    await pending?.settle();
  };
  return {
    whole: async (body) => {
      await note(telling.ofWhole(parsedJson(body.toString('utf8'))));
      return telling.isMarked ? unmarkedBody(body) : body;
    },
    ofStream: () => {
      const textsIn = eventTexts();
      return {
        ...{ outlivesCaller: false, isUnwanted: false },
        note: async (bytes) => {
          const told = textsIn(bytes);
          const events = told.filter((data) => noted.size === 0 || telling.isOfMore.test(data));
          for (const data of events) await note(telling.ofEvent(parsedJson(data)));
        },
        end: async () => Buffer.alloc(0),
      };
    },
  };
}

interface Noting {
  readonly owner: Owner;
  readonly target: ResolvedTarget;
  readonly now: number;
}

export function rowsOf(
  told: readonly ToldObject[],
  { owner, target, now }: Noting,
): ownedObjects.OwnedObject[] {
  const provider = providerOf(target);
  const noted = new Map(told.map((one) => [`${one.kind} ${one.id}`, one]));
  return [...noted.values()].map(({ kind, id }) => ({
    ...{ organisation_id: owner.organisationId, workspace_id: owner.workspaceId },
    ...{ kind, object_id: id, provider, api_key_id: owner.apiKeyId },
    ...{ created_at: now, deleted_at: null, look_at: now + lookAfterMs },
    account: accountOf(target, owner),
  }));
}

/** The provider has it no more. */
export function noteDeleted(db: Db, row: ownedObjects.OwnedObject, now: number): Promise<void> {
  return ownedObjects.markDeleted(db, row, { now, lookAt: now + deletedMs });
}
