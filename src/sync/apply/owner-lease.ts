/** Acquires, renews and releases the lease that makes a run the only writer of its owner. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '../../failure.ts';
import type { AdminClient } from '../server/client.ts';
import { ApiRefusal } from '../server/refusal.ts';

export interface LeaseOptions {
  /** Names this run to runs that wait for it: `apply on host-1 (process 12)`. */
  readonly holder: string;
  /** Bind the owner to this credential even if it is bound to another. */
  readonly takeOver: boolean;
  /** The command that does so, for advice. */
  readonly takeOverCommand: string;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Called once if the lease is not free immediately. */
  readonly onWait?: ((message: string) => void) | undefined;
  /** Longest wait; {@link waitMsMax} when absent. */
  readonly waitMs?: number | undefined;
}

const ttlSeconds = 15;
const renewMs = 5_000;
const askAgainMs = 500;
const releaseMsMax = 1_000;
/** Longer than a lease lasts, so that a dead run delays the next one but never fails it. */
const waitMsMax = 20_000;

/**
 * The right to write for an owner, until its disposal. It does not rely on clocks: every write
 * carries the fence, and the server refuses an outdated fence in the transaction of the write.
 */
export interface HeldLease extends AsyncDisposable {
  readonly fence: number;
  /** Whether another run has taken over; further writes would be refused. */
  readonly isLost: boolean;
  markLost(): void;
}

class OwnerLease implements HeldLease {
  readonly fence: number;
  readonly #client: AdminClient;
  readonly #renewal: NodeJS.Timeout;
  #isLost = false;

  constructor(client: AdminClient, fence: number, renew: () => Promise<unknown>) {
    this.fence = fence;
    this.#client = client;
    this.#renewal = setInterval(() => {
      renew().catch((error: unknown) => {
        // Other errors may pass; if not, the writes meet them too.
        if (error instanceof ApiRefusal && error.status === 409) this.#isLost = true;
      });
    }, renewMs).unref();
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  markLost(): void {
    this.#isLost = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#renewal);
    if (!this.#isLost) await releaseLease(this.#client, this.fence);
  }
}

/** One claim of the lease by a run; repeating it renews the lease. */
export interface OwnerLeaseClaim {
  /** UUID. */
  readonly runId: string;
  readonly holder: string;
  readonly ttlSeconds: number;
  /** Nothing has to be written now: a run with work gets the lease immediately. */
  readonly yields: boolean;
  readonly takeOver: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Claims the lease of the client's owner once and returns its fence.
 *
 * @throws ApiRefusal when it is not available, see {@link leaseRefusal}; what the client throws
 */
export async function claimLease(client: AdminClient, claim: OwnerLeaseClaim): Promise<number> {
  const { body } = await client.request({
    method: 'PUT',
    countsAsWrite: false,
    outOfTurn: true,
    path: pathOf(client.owner),
    body: {
      run_id: claim.runId,
      holder: claim.holder.replace(/[^\x20-\x7e]/g, '?').slice(0, 200),
      ttl_seconds: claim.ttlSeconds,
      ...(claim.yields ? { yields: true } : {}),
      ...(claim.takeOver ? { take_over: true } : {}),
    },
    signal: claim.signal,
  });
  return fenceOf(body);
}

/** Never fails: a lease that cannot be released expires. */
export async function releaseLease(client: AdminClient, fence: number): Promise<void> {
  const release = {
    method: 'DELETE',
    path: pathOf(client.owner),
    countsAsWrite: false,
    fence,
    signal: AbortSignal.timeout(releaseMsMax),
  } as const;
  await client.request(release).catch(() => undefined);
}

/**
 * Acquires the lease of the client's owner, waiting for a run that holds it.
 *
 * @throws Failure (retryable) that names the holder when the wait ends; (refused by guard) when the
 *   owner belongs to another credential, or this one may not claim; what the client throws
 */
export async function acquireLease(client: AdminClient, options: LeaseOptions): Promise<HeldLease> {
  const { holder, takeOver, signal } = options;
  const claim = { runId: randomUUID(), holder, ttlSeconds, yields: false };
  const fence = await claimPatiently(client, { ...claim, takeOver, signal }, options);
  return new OwnerLease(client, fence, () => claimLease(client, { ...claim, takeOver: false }));
}

/**
 * Claims repeatedly until the lease is acquired or the time is up; then throws as {@link
 * acquireLease}.
 */
export async function claimPatiently(
  client: AdminClient,
  claim: OwnerLeaseClaim,
  options: LeaseOptions,
): Promise<number> {
  const until = performance.now() + (options.waitMs ?? waitMsMax);
  for (let hasNotified = false; ; hasNotified = true) {
    try {
      return await claimLease(client, claim);
    } catch (error) {
      const refusal = leaseRefusal(error, options);
      const isHeld = refusal.kind === 'retryable';
      if (!isHeld || performance.now() >= until) throw refusal;
      if (!hasNotified) options.onWait?.(`waiting: ${(error as Error).message}`);
      await delay(askAgainMs, undefined, { signal: options.signal });
    }
  }
}

/** Returns whether a write was refused because another run has taken over. */
export function isFencedOff(error: unknown): boolean {
  return error instanceof ApiRefusal && error.status === 409 && error.param === 'gatewright-fence';
}

/**
 * Describes a refused claim: retryable while another run holds the lease. Rethrows other errors.
 */
export function leaseRefusal(
  error: unknown,
  { takeOver, takeOverCommand }: Pick<LeaseOptions, 'takeOver' | 'takeOverCommand'>,
): Failure {
  if (!(error instanceof ApiRefusal)) throw error;
  if (error.status === 409 && error.param === 'run_id') {
    return new Failure('retryable', `${error.message}; run it again`, { cause: error });
  }
  const isBound = error.status === 409 && error.message.includes('--take-ownership');
  const way = isBound && !takeOver ? `\n  To take it over: ${takeOverCommand}` : '';
  const message = `the server refuses the lease: ${error.message}${way}`;
  return new Failure('refusedByGuard', message, { cause: error });
}

function fenceOf(body: unknown): number {
  const { fence } = (body ?? {}) as { fence?: unknown };
  if (typeof fence === 'number') return fence;
  throw new Failure('unreachable', 'the server answers a lease that this version cannot read');
}

function pathOf(owner: string): string {
  return `/admin/v2/gatewright/leases/${encodeURIComponent(owner)}`;
}
