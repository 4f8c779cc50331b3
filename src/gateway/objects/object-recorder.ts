/** Records the owners of objects that a provider created, before the caller learns of them. */
import { readJson } from '../../model/json/read-object.ts';
import { checkAfterMs, deletedRetentionMs } from '../../objects/object-lifetimes.ts';
import type { Owner } from '../../objects/owner.ts';
import type { Db } from '../../store/connection/db.ts';
import * as ownedObjects from '../../store/objects/owned-objects.ts';
import type { RequestContext } from '../calls/request-context.ts';
import { unmarkedBody } from '../references/object-mark.ts';
import type { ExtractedObject, ObjectExtractor } from '../references/response-objects.ts';
import { accountOf, providerOf, type ResolvedTarget } from '../targets/resolve-target.ts';
import { eventDataReader } from '../transfer/event-data.ts';
import type { PendingObject } from './pending-object.ts';
import type { StreamRecorder } from './recorded-stream.ts';

export interface ObjectRecorder {
  /** Records the objects in a complete response; resolves to the body that the caller receives. */
  whole(body: Buffer): Promise<Buffer>;
  ofStream(): StreamRecorder;
}

interface RecorderOptions {
  readonly db: Db;
  readonly owner: Owner;
  readonly target: ResolvedTarget;
  /** Settled when the created object is known; null when no creation is tracked. */
  readonly pending: PendingObject | null;
}

export function objectRecorder(
  { exchange }: Pick<RequestContext, 'exchange'>,
  extractor: ObjectExtractor,
  { db, owner, target, pending }: RecorderOptions,
): ObjectRecorder {
  const recorded = new Set<string>();
  const record = async (objects: readonly ExtractedObject[]): Promise<void> => {
    const unrecorded = objects.filter(({ kind, id }) => !recorded.has(`${kind} ${id}`));
    if (unrecorded.length === 0) return;
    for (const { kind, id } of unrecorded) recorded.add(`${kind} ${id}`);
    await ownedObjects.insertAll(db, rowsOf(unrecorded, { owner, target, now: exchange.now }));
    await pending?.settle();
  };
  return {
    whole: async (body) => {
      await record(extractor.fromResponse(readJson(body.toString('utf8'))));
      return extractor.isMarked ? unmarkedBody(body) : body;
    },
    ofStream: () => {
      const readData = eventDataReader();
      return {
        outlivesCaller: false,
        isUnwanted: false,
        record: async (bytes) => {
          const events = readData(bytes).filter(
            (data) => recorded.size === 0 || extractor.laterEvents.test(data),
          );
          for (const data of events) await record(extractor.fromEvent(readJson(data)));
        },
        end: async () => Buffer.alloc(0),
      };
    },
  };
}

interface RowOptions {
  readonly owner: Owner;
  readonly target: ResolvedTarget;
  readonly now: number;
}

export function rowsOf(
  objects: readonly ExtractedObject[],
  { owner, target, now }: RowOptions,
): ownedObjects.OwnedObject[] {
  const provider = providerOf(target);
  const account = accountOf(target, owner);
  const unique = new Map(objects.map((one) => [`${one.kind} ${one.id}`, one]));
  return [...unique.values()].map(({ kind, id }) => ({
    organisation_id: owner.organisationId,
    workspace_id: owner.workspaceId,
    kind,
    object_id: id,
    provider,
    api_key_id: owner.apiKeyId,
    created_at: now,
    deleted_at: null,
    look_at: now + checkAfterMs,
    account,
  }));
}

/** Records that the provider no longer has the object. */
export function recordDeletion(db: Db, row: ownedObjects.OwnedObject, now: number): Promise<void> {
  return ownedObjects.markDeleted(db, row, { now, lookAt: now + deletedRetentionMs });
}
