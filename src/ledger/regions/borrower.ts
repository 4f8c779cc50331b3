/** Borrows units of limits from home for a region: one request at a time for each organisation, by any replica. */
import { setTimeout as delay } from 'node:timers/promises';
import { newIdBytes } from '../../model/wire/ids.ts';
import { monotonicMs } from '../../monotonic.ts';
import type { Database, Db } from '../../store/connection/db.ts';
import { readServerTime } from '../../store/connection/server-time.ts';
import { applyAnswer, takeMoves, type WantedCounter } from '../../store/regions/home-moves.ts';
import * as regionHolders from '../../store/regions/region-holders.ts';
import * as regionLoans from '../../store/regions/region-loans.ts';
import type { BankAnswer, BankRequest, LimitBank } from '../limit-bank.ts';

const movesMax = 200;
/** Interval of renewing the lease of the region at home; a third of it. */
const renewMs = 10_000;
/** Times in milliseconds after which requests to home are given up or sent again. */
interface Patience {
  /** Age at which a request is sent again by any replica: longer than a replica waits for the answer. */
  readonly resendMs: number;
  /** The same for a request that home did not answer. */
  readonly retryMs: number;
  /** How long gateways wait for home. */
  readonly waitMs: number;
}

const patienceDefault: Patience = { resendMs: 7_000, retryMs: 1_000, waitMs: 1_200 };
/** Interval of looking whether another replica has received its answer. */
const lookMs = 50;

export interface BorrowerOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly home: Pick<LimitBank, 'exchange' | 'listWanted'>;
  /** Called with each request that home did not answer. */
  readonly onAway: (error: unknown) => void;
  readonly patience?: Patience;
}

/** A request as it is stored before it is sent. */
interface StoredRequest extends BankRequest {
  /** When it was stored, by the clock of the region's database. */
  readonly storedAtMs: number;
}

type WantedCounters = ReadonlyMap<string, WantedCounter>;

const nothing: WantedCounters = new Map();

/**
 * A request is stored in the region's database before it is sent, and is repeated, by any replica, until home answers it;
 * home answers a repetition as it answered the request. When home has charged what the region held, because it was away
 * for longer than the lease, the region goes on with it: it is counted as used at home already.
 */
export class Borrower {
  readonly #options: Omit<BorrowerOptions, 'patience'>;
  readonly #patience: Patience;
  /** Organisations for which home did not answer the last request. */
  readonly #away = new Set<string>();
  readonly #asking = new Map<string, Promise<void>>();

  constructor({ patience = patienceDefault, ...options }: BorrowerOptions) {
    this.#options = options;
    this.#patience = patience;
  }

  isAway(organisationId: string): boolean {
    return this.#away.has(organisationId);
  }

  /** Asks home for units of which gateways wait, as long as they wait for it. Never rejects. */
  async borrow(organisationId: string, wanted: WantedCounters): Promise<void> {
    const asking = this.#ask(organisationId, wanted).catch((error: unknown) => {
      this.#away.add(organisationId);
      this.#options.onAway(error);
    });
    // While home is away nobody waits for it.
    if (this.isAway(organisationId)) return;
    const waiting = new AbortController();
    const late = delay(this.#patience.waitMs, true, { signal: waiting.signal }).catch(() => false);
    const isLate = await Promise.race([late, asking.then(() => false)]);
    waiting.abort();
    if (isLate) this.#away.add(organisationId);
  }

  /** Reports usage, returns idle units, and renews the lease, as far as that is due. Never rejects. */
  async exchangeDue(organisationId: string): Promise<void> {
    await this.#attempt(organisationId, nothing).catch(this.#options.onAway);
  }

  /** Asks which units home wants back, so that the gateways of the region return theirs. */
  async recallWanted(organisationId: string): Promise<void> {
    const { database, home } = this.#options;
    const row = await regionHolders.find(database.db, organisationId);
    if (row === undefined || row.sequence === 0) return;
    const wanted = await home.listWanted([{ organisationId, holder: row.holder }]);
    if (wanted.length === 0) return;
    await database.transaction(async (tx) => {
      const nowMs = await readServerTime(tx);
      await regionLoans.recall(tx, organisationId, wanted, nowMs);
    });
  }

  /** One at a time in this replica. */
  async #ask(organisationId: string, wanted: WantedCounters): Promise<void> {
    const running = this.#asking.get(organisationId);
    if (running !== undefined && this.isAway(organisationId)) return;
    const asking = this.#askOnce(organisationId, wanted);
    this.#asking.set(organisationId, asking);
    try {
      await asking;
    } finally {
      if (this.#asking.get(organisationId) === asking) this.#asking.delete(organisationId);
    }
  }

  async #askOnce(organisationId: string, wanted: WantedCounters): Promise<void> {
    const endMs = monotonicMs() + this.#patience.waitMs;
    while ((await this.#attempt(organisationId, wanted)) === 'busy') {
      if (monotonicMs() >= endMs || this.isAway(organisationId)) return;
      await delay(lookMs);
    }
  }

  /** Sends what is to be sent, after a request that has no answer yet. */
  async #attempt(organisationId: string, wanted: WantedCounters): Promise<Attempt> {
    const { database } = this.#options;
    for (;;) {
      const begun = await database.transaction((tx) =>
        begin(tx, organisationId, wanted, this.#patience),
      );
      if (begun === 'idle') this.#away.delete(organisationId);
      if (begun === 'busy' || begun === 'idle') return begun;
      const result = await this.#send(organisationId, begun.request);
      if (result === 'away') return 'away';
      // Goes on after a request of earlier, a registration, and a loss.
      const hasMoved = begun.isNew && begun.request.sequence > 0 && result === 'answered';
      if (hasMoved) return 'answered';
    }
  }

  async #send(
    organisationId: string,
    request: StoredRequest,
  ): Promise<'answered' | 'lost' | 'away'> {
    const { database, home, onAway } = this.#options;
    const { storedAtMs: _, ...sent } = request;
    let answer: BankAnswer | null;
    try {
      answer = await home.exchange(sent);
    } catch (error) {
      this.#away.add(organisationId);
      onAway(error);
      const { resendMs, retryMs } = this.#patience;
      await regionHolders.retrySoon(database.db, organisationId, resendMs - retryMs);
      return 'away';
    }
    this.#away.delete(organisationId);
    await database.transaction((tx) => end(tx, organisationId, request, answer));
    return answer === null ? 'lost' : 'answered';
  }
}

/** Result of an attempt: another replica is sending, nothing is to be sent, home has answered, or is away. */
type Attempt = 'busy' | 'idle' | 'answered' | 'away';

interface BegunRequest {
  readonly request: StoredRequest;
  /** Whether it was stored now, and is not one of earlier. */
  readonly isNew: boolean;
}

/** Stores the next request, or takes the stored one over. */
async function begin(
  tx: Db,
  organisationId: string,
  wanted: WantedCounters,
  { resendMs }: Pick<Patience, 'resendMs'>,
): Promise<BegunRequest | 'busy' | 'idle'> {
  const row = await regionHolders.lock(tx, organisationId);
  const nowMs = await readServerTime(tx);
  if (row.request !== null) {
    if (row.attempted_at > nowMs - resendMs) return 'busy';
    await regionHolders.update(tx, organisationId, { attempted_at: nowMs });
    return { request: parseRequest(row.request), isNew: false };
  }
  const isRegistered = row.sequence > 0;
  const isDue = wanted.size > 0 || (await isExchangeDue(tx, organisationId, row, nowMs));
  if (!isDue) return 'idle';
  // Registers first, so that a registration that home repeats, after it has forgotten the region, moves nothing twice.
  const moves = isRegistered
    ? await takeMoves(tx, organisationId, wanted, { nowMs, movesMax })
    : [];
  const holds = moves.length > 0 || (await regionLoans.holdsUnits(tx, organisationId));
  if (isRegistered && !holds) return 'idle';
  const request: StoredRequest = {
    holder: { organisationId, holder: row.holder },
    sequence: row.sequence,
    moves,
    listsHeld: false,
    countsHolders: true,
    keepsAnswer: true,
    leavesOutLost: true,
    storedAtMs: nowMs,
  };
  const stored = { request: JSON.stringify(request), attempted_at: nowMs };
  await regionHolders.update(tx, organisationId, stored);
  return { request, isNew: true };
}

async function isExchangeDue(
  tx: Db,
  organisationId: string,
  { renewed_at }: regionHolders.RegionHolderRow,
  nowMs: number,
): Promise<boolean> {
  const due = await regionLoans.listDue(tx, organisationId, nowMs, 1);
  if (due.length > 0) return true;
  return nowMs - renewed_at > renewMs && (await regionLoans.holdsUnits(tx, organisationId));
}

/** Applies an answer once, whichever replica received it. */
async function end(
  tx: Db,
  organisationId: string,
  request: StoredRequest,
  answer: BankAnswer | null,
): Promise<void> {
  const row = await regionHolders.lock(tx, organisationId);
  const isSame = row.holder.equals(request.holder.holder) && row.sequence === request.sequence;
  if (!isSame || row.request === null) return;
  const { storedAtMs } = request;
  if (answer === null) {
    // Home has charged what was held, and perhaps accepted before what the request returned.
    await regionLoans.chargeAll(tx, organisationId, storedAtMs);
    const next = { holder: newIdBytes(), sequence: 0, request: null };
    await regionHolders.update(tx, organisationId, next);
    return;
  }
  await applyAnswer(tx, organisationId, {
    moves: request.moves,
    outcomes: answer.outcomes,
    lost: new Set(answer.lost ?? []),
    sentAtMs: storedAtMs,
  });
  await regionHolders.update(tx, organisationId, {
    sequence: request.sequence + 1,
    renewed_at: storedAtMs,
    request: null,
    ...(answer.holders === null ? {} : { home_holders: answer.holders }),
  });
}

/** Bytes are written by JSON as lists of numbers. */
function parseRequest(text: string): StoredRequest {
  return JSON.parse(text, (_, value) =>
    value?.type === 'Buffer' && Array.isArray(value.data) ? Buffer.from(value.data) : value,
  ) as StoredRequest;
}
