/** Knows a request for an object that a provider is to keep, from before it goes out until it is known what came of it. */
import { newId } from '../../model/ids.ts';
import { outcomeMs } from '../../objects/listed-objects.ts';
import type { ObjectKind } from '../../objects/object-request.ts';
import type { Owner } from '../../objects/owner.ts';
import type { Db } from '../../store/connection/db.ts';
import * as pendingObjects from '../../store/tables/pending-objects.ts';
import type { Calling } from '../answering/calling.ts';
import type { Exchange } from '../callers/exchange.ts';
import { type Attempted, mayHaveDone } from '../calls/attempt.ts';
import { carriesMark, newMark } from '../references/object-mark.ts';
import type { OwnedPath } from '../references/owned-path.ts';
import { accountOf, providerOf, type ResolvedTarget } from '../targets/resolve-target.ts';

/** Of the others, providers delete what nobody knows: responses after a month, uploads after an hour. */
const awaitedKinds: ReadonlySet<ObjectKind> = new Set([
  ...(['vector_stores', 'assistants', 'batches', 'files', 'threads', 'conversations'] as const),
  ...(['evals', 'fine_tuning_jobs', 'skills'] as const),
]);

const firstLookMs = 60_000;

/** Under which mark; undefined for a request that makes nothing that is awaited. */
function makingOf(
  { kind, id, rest }: OwnedPath,
  { method, headers }: Exchange['request'],
  owner: Owner,
): Exchange['making'] {
  const isThread = kind === 'threads' && rest.length === 1 && rest[0] === 'runs';
  const isMaking = method === 'POST' && id === null && (rest.length === 0 || isThread);
  if (!isMaking || !awaitedKinds.has(kind)) return undefined;
  const given = headers['idempotency-key'];
  const key = typeof given === 'string' ? given : undefined;
  return { mark: carriesMark(kind) ? newMark(owner, kind, key) : null };
}

interface MakeOptions {
  readonly db: Db;
  readonly owner: Owner;
  readonly target: ResolvedTarget;
}

export interface Made {
  readonly attempted: Attempted;
  /** As it went out. */
  readonly calling: Calling;
  /** Null where nobody has to know what comes of it. */
  readonly pending: PendingObject | null;
}

/** Calls a provider that is to make an object; from before anything goes out it is written down that there may be one. */
export async function makeAt(
  calling: Calling,
  owned: OwnedPath,
  { db, owner, target }: MakeOptions,
  call: (calling: Calling) => Promise<Attempted>,
): Promise<Made> {
  const { exchange, calls } = calling;
  const making = makingOf(owned, exchange.request, owner);
  if (making === undefined) return { attempted: await call(calling), calling, pending: null };
  const made = { ...calling, exchange: { ...exchange, making } };
  const pending = await PendingObject.begin(db, {
    ...{ owner, kind: owned.kind, provider: providerOf(target) },
    account: accountOf(target, owner),
    ...{ mark: making.mark, now: exchange.now },
  });
  try {
    const attempted = await call(made);
    await pending.note(attempted);
    return { attempted, calling: made, pending };
  } catch (thrown) {
    if (!calls.isSent) await pending.settle();
    throw thrown;
  }
}

interface Awaited {
  readonly owner: Owner;
  readonly kind: ObjectKind;
  readonly provider: string;
  readonly account: string;
  readonly mark: string | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** At one provider. Its row outlives the process until somebody knows what came of it. */
export class PendingObject {
  readonly #db: Db;
  readonly #row: pendingObjects.PendingObject;
  /** Whether a try may have made another one, of which nobody has heard. */
  #isOneOfSeveral = false;

  private constructor(db: Db, row: pendingObjects.PendingObject) {
    this.#db = db;
    this.#row = row;
  }

  /** To be called before anything is sent. */
  static async begin(
    db: Db,
    { owner, kind, provider, account, mark, now }: Awaited,
  ): Promise<PendingObject> {
    const row = {
      ...{ organisation_id: owner.organisationId, id: newId(), workspace_id: owner.workspaceId },
      ...{
        api_key_id: owner.apiKeyId,
        kind,
        provider,
        account,
        mark,
        created_at: now,
        found_at: null,
      },
      look_at: now + (mark === null ? outcomeMs : firstLookMs),
    };
    await pendingObjects.insert(db, row);
    return new PendingObject(db, row);
  }

  /** What came of the call, as far as its answer has begun. */
  async note(attempted: Attempted): Promise<void> {
    this.#isOneOfSeveral = attempted.hasLostTries === true;
    const status = attempted.guarded?.providerStatus ?? attempted.status;
    const mayBeMade = attempted.isSent && (status <= 299 || mayHaveDone(attempted));
    if (!mayBeMade) await this.settle();
  }

  /** It is known what was made. Where this is not written down, it is looked for in vain later on. */
  async settle(): Promise<void> {
    if (this.#isOneOfSeveral) return;
    await pendingObjects.deleteById(this.#db, this.#row).catch(() => undefined);
  }
}
