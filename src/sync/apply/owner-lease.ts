/** Knows how a run becomes the one writer of its owner: takes the lease, renews it, gives it back. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '../../failure.ts';
import type { AdminClient } from '../server/client.ts';
import { ApiRefusal } from '../server/refusal.ts';

export interface LeaseOptions {
  /** What whoever waits for this run is told: `apply on host-1 (process 12)`. */
  readonly holder: string;
  /** Bind the owner to this credential although it is bound to another. */
  readonly takeOver: boolean;
  /** The command that does so, for advice. */
  readonly takeOverCommand: string;
  /** Ends the waiting. */
  readonly signal?: AbortSignal | undefined;
  /** Told once, when the lease is not free at once. */
  readonly onWait?: ((message: string) => void) | undefined;
  /** Longest time to wait, {@link waitMsMax} when absent. */
  readonly waitMs?: number | undefined;
}

const ttlSeconds = 15;
const renewMs = 5_000;
const askAgainMs = 500;
const releaseMsMax = 1_000;
/** Longer than a lease lasts, so that a run that died makes the next one slow and never fail. */
const waitMsMax = 20_000;

/**
 * Held from {@link acquireLease} to its disposal. Nothing rests on its time: every write carries the
 * fence, and the server refuses one that is no longer the newest, in the transaction of the write.
 */
export class OwnerLease implements AsyncDisposable {
  readonly fence: number;
  readonly #client: AdminClient;
  readonly #renewal: NodeJS.Timeout;
  #isLost = false;

  constructor(client: AdminClient, fence: number, renew: () => Promise<unknown>) {
    this.fence = fence;
    this.#client = client;
    this.#renewal = setInterval(() => {
      renew().catch((error: unknown) => {
        // Anything else may pass; should it not, the writes meet it, too.
        if (error instanceof ApiRefusal && error.status === 409) this.#isLost = true;
      });
    }, renewMs).unref();
  }

  /** Another run has taken over: what this one still starts would be refused. */
  get isLost(): boolean {
    return this.#isLost;
  }

  markLost(): void {
    this.#isLost = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#renewal);
    if (this.#isLost) return;
    const release = {
      method: 'DELETE',
      path: pathOf(this.#client.owner),
      countsAsWrite: false,
      fence: this.fence,
      signal: AbortSignal.timeout(releaseMsMax),
    } as const;
    // A lease that cannot be given back ends by itself.
    await this.#client.request(release).catch(() => undefined);
  }
}

/**
 * Takes the lease of the client's owner, waiting a little for a run that has it.
 *
 * @throws Failure (retryable) naming the holder when it stays held; (refused by guard) when the owner
 *   belongs to another credential, or this one may not claim; what the client throws
 */
export async function acquireLease(
  client: AdminClient,
  options: LeaseOptions,
): Promise<OwnerLease> {
  const runId = randomUUID();
  const take = (takeOver: boolean): Promise<{ body: unknown }> =>
    client.request({
      method: 'PUT',
      countsAsWrite: false,
      path: pathOf(client.owner),
      body: {
        run_id: runId,
        holder: options.holder.replace(/[^\x20-\x7e]/g, '?').slice(0, 200),
        ttl_seconds: ttlSeconds,
        ...(takeOver ? { take_over: true } : {}),
      },
      signal: options.signal,
    });
  const until = performance.now() + (options.waitMs ?? waitMsMax);
  for (let hasTold = false; ; hasTold = true) {
    try {
      const { body } = await take(options.takeOver);
      return new OwnerLease(client, fenceOf(body), () => take(false));
    } catch (error) {
      const refusal = leaseRefusal(error, options);
      const isHeld = refusal.kind === 'retryable';
      if (!isHeld || performance.now() >= until) throw refusal;
      if (!hasTold) options.onWait?.(`waiting: ${(error as Error).message}`);
      await delay(askAgainMs, undefined, { signal: options.signal });
    }
  }
}

/** Whether a write was refused because another run has taken over meanwhile. */
export function isFencedOff(error: unknown): boolean {
  return error instanceof ApiRefusal && error.status === 409 && error.param === 'gatewright-fence';
}

function leaseRefusal(error: unknown, { takeOver, takeOverCommand }: LeaseOptions): Failure {
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
