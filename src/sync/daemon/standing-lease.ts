/** Knows how one daemon of an owner leads and the others stand by: a lease that is held on between cycles. */
/*
 *   standing by   asks now and then          had -> idle
 *   idle          renews, and yields: a run with something to write, such as `apply`, comes in at once,
 *                 another daemon does not    refused -> standing by
 *   writing       renews, and yields to nobody; back to idle when the cycle is over
 *
 * A process that dies here is followed when its time is up; one that was asleep finds its fence refused
 * by the server with the first write. Claims go out one after the other, so that the word of an older
 * state never arrives after that of a newer one.
 */
import { randomUUID } from 'node:crypto';
import { Failure } from '../../failure.ts';
import {
  claimLease,
  claimPatiently,
  type HeldLease,
  type LeaseClaim,
  type LeaseOptions,
  leaseRefusal,
  releaseLease,
} from '../apply/owner-lease.ts';
import type { AdminClient } from '../server/client.ts';
import { ApiRefusal } from '../server/refusal.ts';

/** Longer than while something is written, because nobody waits for it. */
const idleTtlSeconds = 30;
const writingTtlSeconds = 15;
const tickMs = 5_000;
/** Of renewals while nothing is written. */
const idleTicks = 2;

export interface StandingTerms
  extends Pick<LeaseOptions, 'holder' | 'takeOver' | 'takeOverCommand' | 'signal'> {
  /** Told whenever this daemon comes to lead, with null, or to stand by, with who leads. */
  readonly onChange: (leader: string | null) => void;
}

export class StandingLease implements AsyncDisposable {
  readonly #client: AdminClient;
  readonly #terms: StandingTerms;
  readonly #runId = randomUUID();
  readonly #renewal: NodeJS.Timeout;
  /** Null while standing by. */
  #fence: number | null = null;
  /** Whether what was told last is that this daemon leads; null before the first word. */
  #toldLeading: boolean | null = null;
  #isWriting = false;
  /** Whether the fence was confirmed a moment ago. */
  #isFresh = false;
  #isClaiming = false;
  #ticks = 0;
  #claims: Promise<unknown> = Promise.resolve();

  constructor(client: AdminClient, terms: StandingTerms) {
    this.#client = client;
    this.#terms = terms;
    this.#renewal = setInterval(() => this.#tick(), tickMs).unref();
  }

  /** The fence while this daemon leads; null while it stands by. */
  get fence(): number | null {
    return this.#fence;
  }

  /**
   * Asks for the lease unless it was had a moment ago.
   *
   * @throws Failure as `acquireLease`, but for a lease that another run holds
   */
  async lead(): Promise<number | null> {
    if (this.#fence !== null && this.#isFresh) return this.#fence;
    try {
      return await this.#renew();
    } catch (error) {
      const refusal = leaseRefusal(error, this.#terms);
      if (refusal.kind !== 'retryable') throw refusal;
      return null;
    }
  }

  /** For a cycle that writes; waits a little for a run that has come in meanwhile. */
  async takeForWrites(terms: LeaseOptions): Promise<HeldLease> {
    this.#isWriting = true;
    try {
      const fence = await this.#inTurn(() =>
        claimPatiently(this.#client, this.#claim(terms.signal), terms),
      );
      this.#hold(fence);
      return this.#lent(fence);
    } catch (error) {
      this.#isWriting = false;
      if (error instanceof Failure && error.kind === 'retryable') this.#lose(error.message);
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#renewal);
    await this.#claims.catch(() => undefined);
    if (this.#fence !== null) await releaseLease(this.#client, this.#fence);
  }

  #tick(): void {
    this.#ticks += 1;
    if (this.#fence === null || this.#isClaiming) return;
    if (!this.#isWriting && this.#ticks % idleTicks !== 0) return;
    this.#isFresh = false;
    // What it fails of, the next question meets, too.
    this.#renew().catch(() => undefined);
  }

  #lent(fence: number): HeldLease {
    let isLost = false;
    const hasGone = (): boolean => isLost || this.#fence !== fence;
    return {
      fence,
      get isLost() {
        return hasGone();
      },
      markLost: () => {
        isLost = true;
        this.#isFresh = false;
      },
      [Symbol.asyncDispose]: async () => {
        this.#isWriting = false;
        await this.#renew().catch(() => undefined);
      },
    };
  }

  async #renew(): Promise<number> {
    try {
      const fence = await this.#inTurn(() =>
        claimLease(this.#client, this.#claim(this.#isWriting ? undefined : this.#terms.signal)),
      );
      this.#hold(fence);
      return fence;
    } catch (error) {
      if (error instanceof ApiRefusal && error.status === 409) this.#lose(error.message);
      throw error;
    }
  }

  #claim(signal: AbortSignal | undefined): LeaseClaim {
    return {
      runId: this.#runId,
      holder: this.#terms.holder,
      ttlSeconds: this.#isWriting ? writingTtlSeconds : idleTtlSeconds,
      yields: !this.#isWriting,
      takeOver: this.#terms.takeOver && this.#toldLeading === null,
      signal,
    };
  }

  #inTurn<T>(claim: () => Promise<T>): Promise<T> {
    const one = async (): Promise<T> => {
      this.#isClaiming = true;
      try {
        return await claim();
      } finally {
        this.#isClaiming = false;
      }
    };
    const turn = this.#claims.then(one, one);
    this.#claims = turn;
    return turn;
  }

  #hold(fence: number): void {
    this.#fence = fence;
    this.#isFresh = true;
    if (this.#toldLeading === true) return;
    this.#toldLeading = true;
    this.#terms.onChange(null);
  }

  #lose(leader: string): void {
    this.#fence = null;
    this.#isFresh = false;
    if (this.#toldLeading === false) return;
    this.#toldLeading = false;
    this.#terms.onChange(leader);
  }
}
