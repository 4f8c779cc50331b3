/** Tracks the creation of an object at a provider from before it is sent until its outcome is known. */

import type { ObjectKind } from '../../model/endpoints/object-kind.ts';
import { newId } from '../../model/wire/ids.ts';
import { outcomeDelayMaxMs } from '../../objects/listed-objects.ts';
import type { Owner } from '../../objects/owner.ts';
import type { Db } from '../../store/connection/db.ts';
import * as pendingObjects from '../../store/objects/pending-objects.ts';
import type { Exchange } from '../callers/exchange.ts';
import { mayHaveTakenEffect, type TargetOutcome } from '../calls/outcome.ts';
import type { RequestContext } from '../calls/request-context.ts';
import { carriesMark, newMark } from '../references/object-mark.ts';
import type { OwnedPath } from '../references/owned-path.ts';
import { accountOf, providerOf, type ResolvedTarget } from '../targets/resolve-target.ts';

/**
 * Kinds whose creation is tracked. Providers delete the others by themselves: responses after a month,
 * uploads after an hour.
 */
const trackedKinds: ReadonlySet<ObjectKind> = new Set<ObjectKind>([
  'vector_stores',
  'assistants',
  'batches',
  'files',
  'threads',
  'conversations',
  'evals',
  'fine_tuning_jobs',
  'skills',
]);

const firstLookMs = 60_000;

/** The mark of the object to create; undefined for a request that creates none that is tracked. */
function trackedCreationOf(
  { kind, id, rest }: OwnedPath,
  { method, headers }: Exchange['request'],
  owner: Owner,
): Exchange['trackedCreation'] {
  const isThreadRun = kind === 'threads' && rest.length === 1 && rest[0] === 'runs';
  const isCreation = method === 'POST' && id === null && (rest.length === 0 || isThreadRun);
  if (!isCreation || !trackedKinds.has(kind)) return undefined;
  const header = headers['idempotency-key'];
  const key = typeof header === 'string' ? header : undefined;
  return { mark: carriesMark(kind) ? newMark(owner, kind, key) : null };
}

interface CreateOptions {
  readonly db: Db;
  readonly owner: Owner;
  readonly target: ResolvedTarget;
}

export interface PendingOutcome {
  readonly outcome: TargetOutcome;
  /** The request as it was sent. */
  readonly context: RequestContext;
  /** Null when the creation is not tracked. */
  readonly pending: PendingObject | null;
}

/** Calls a provider that is to create an object, and stores before sending that the object may exist. */
export async function createAt(
  context: RequestContext,
  owned: OwnedPath,
  { db, owner, target }: CreateOptions,
  call: (context: RequestContext) => Promise<TargetOutcome>,
): Promise<PendingOutcome> {
  const { exchange, calls } = context;
  const trackedCreation = trackedCreationOf(owned, exchange.request, owner);
  if (trackedCreation === undefined)
    return { outcome: await call(context), context, pending: null };
  const creating = context.withExchange({ ...exchange, trackedCreation: trackedCreation });
  const pending = await PendingObject.begin(db, {
    owner,
    kind: owned.kind,
    provider: providerOf(target),
    account: accountOf(target, owner),
    mark: trackedCreation.mark,
    now: exchange.now,
  });
  try {
    const outcome = await call(creating);
    await pending.note(outcome);
    return { outcome, context: creating, pending };
  } catch (thrown) {
    if (!calls.isSent) await pending.settle();
    throw thrown;
  }
}

interface Creation {
  readonly owner: Owner;
  readonly kind: ObjectKind;
  readonly provider: string;
  readonly account: string;
  readonly mark: string | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** An object that a provider may have created. Its row outlives the process until the outcome is known. */
export class PendingObject {
  readonly #db: Db;
  readonly #row: pendingObjects.StoredPendingObject;
  /** Whether a lost try may have created a second object. */
  #mayBeDuplicate = false;

  private constructor(db: Db, row: pendingObjects.StoredPendingObject) {
    this.#db = db;
    this.#row = row;
  }

  /** Called before anything is sent. */
  static async begin(
    db: Db,
    { owner, kind, provider, account, mark, now }: Creation,
  ): Promise<PendingObject> {
    const row = {
      organisation_id: owner.organisationId,
      id: newId(),
      workspace_id: owner.workspaceId,
      api_key_id: owner.apiKeyId,
      kind,
      provider,
      account,
      mark,
      created_at: now,
      found_at: null,
      look_at: now + (mark === null ? outcomeDelayMaxMs : firstLookMs),
    };
    await pendingObjects.insert(db, row);
    return new PendingObject(db, row);
  }

  /** Deletes the row when the outcome excludes that an object was created. */
  async note(outcome: TargetOutcome): Promise<void> {
    this.#mayBeDuplicate = outcome.hasLostTries;
    const isComplete = outcome.kind === 'judged' || outcome.kind === 'local';
    const status = (isComplete ? outcome.response.providerStatus : null) ?? outcome.status;
    const mayExist = outcome.isSent && (status <= 299 || mayHaveTakenEffect(outcome));
    if (!mayExist) await this.settle();
  }

  /** Deletes the row once the outcome is known. If that fails, a job searches for the object without result. */
  async settle(): Promise<void> {
    if (this.#mayBeDuplicate) return;
    await pendingObjects.deleteById(this.#db, this.#row).catch(() => undefined);
  }
}
