/** Holds the owner's lease between cycles, so that one daemon leads and the others stand by. */
/*
 * standby    asks now and then                              acquired -> idle
 *   idle       renews and yields: a run with work, such as `apply`, gets the lease at once, another
 *              daemon does not                                refused -> standby
 *   writing    renews and does not yield; idle again when the cycle is over
 *
 * Where another lock is needed first, a daemon without that lock stands by, and releases the lease
 * as soon as it writes nothing.
 *
 * A dead process is replaced when its lease expires. A process that was suspended finds its fence
 * refused with the first write. Claims are sent one after the other, so that an older state never
 * arrives after a newer one.
 */

import { randomUUID } from 'node:crypto';
import { detach } from '../../detached.ts';
import { Failure } from '../../failure.ts';
import {
  claimLease,
  claimPatiently,
  type HeldLease,
  type LeaseOptions,
  leaseRefusal,
  type OwnerLeaseClaim,
  releaseLease,
} from '../apply/owner-lease.ts';
import type { AdminClient } from '../server/client.ts';
import { ApiRefusal } from '../server/refusal.ts';
import { SerialQueue } from './serial-queue.ts';

/** Longer than while writing, because nobody waits for an idle daemon. */
const idleTtlSeconds = 30;
const writingTtlSeconds = 15;
const tickMs = 5_000;
/** Ticks between two renewals while idle. */
const idleTicks = 2;

export interface StandingTerms
  extends Pick<LeaseOptions, 'holder' | 'takeOver' | 'takeOverCommand' | 'signal'> {
  /** Returns why this daemon must not lead, whatever the server says; null if it may. */
  readonly standbyReason?: (() => string | null) | undefined;
  /**
   * Called with null when this daemon starts to lead, with a text about the leader when it stands
   * by.
   */
  readonly onChange: (leader: string | null) => void;
}

export class StandingLease implements AsyncDisposable {
  readonly #client: AdminClient;
  readonly #terms: StandingTerms;
  readonly #runId = randomUUID();
  readonly #renewal: NodeJS.Timeout;
  /** Null on standby. */
  #fence: number | null = null;
  /** Whether the last notification was that this daemon leads; null before the first. */
  #notifiedLeading: boolean | null = null;
  #isWriting = false;
  /** Whether the fence was confirmed in the current interval. */
  #isFresh = false;
  #ticks = 0;
  readonly #claims = new SerialQueue();

  constructor(client: AdminClient, terms: StandingTerms) {
    this.#client = client;
    this.#terms = terms;
    this.#renewal = setInterval(() => this.#tick(), tickMs).unref();
  }

  /** The fence while this daemon leads; null on standby. */
  get fence(): number | null {
    return this.#fence;
  }

  /**
   * Claims the lease unless it was confirmed recently. Returns null while another run holds it.
   *
   * @throws Failure as `acquireLease` does for other reasons
   */
  async lead(): Promise<number | null> {
    const standbyReason = this.#terms.standbyReason?.() ?? null;
    if (standbyReason !== null) return await this.#stepDown(standbyReason);
    if (this.#fence !== null && this.#isFresh) return this.#fence;
    try {
      return await this.#renew();
    } catch (error) {
      const refusal = leaseRefusal(error, this.#terms);
      if (refusal.kind !== 'retryable') throw refusal;
      return null;
    }
  }

  /** Takes the lease for a writing cycle; waits briefly for a run that got it meanwhile. */
  async takeForWrites(terms: LeaseOptions): Promise<HeldLease> {
    this.#isWriting = true;
    try {
      const fence = await this.#claims.run(() =>
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
    await this.#claims.drain();
    if (this.#fence !== null) await releaseLease(this.#client, this.#fence);
  }

  #tick(): void {
    this.#ticks += 1;
    if (this.#fence === null || this.#claims.isUnderWay) return;
    const standbyReason = this.#isWriting ? null : (this.#terms.standbyReason?.() ?? null);
    if (standbyReason !== null) {
      detach('releasing the lease of the sync', this.#stepDown(standbyReason));
      return;
    }
    if (!this.#isWriting && this.#ticks % idleTicks !== 0) return;
    this.#isFresh = false;
    // The next call of `lead` meets the same error.
    this.#renew().catch(() => undefined);
  }

  /** Releases the lease, so that the next leader need not wait for its expiry. */
  async #stepDown(leader: string): Promise<null> {
    await this.#claims.run(async () => {
      const fence = this.#fence;
      this.#fence = null;
      if (fence !== null) await releaseLease(this.#client, fence);
    });
    this.#lose(leader);
    return null;
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
      const fence = await this.#claims.run(() =>
        claimLease(this.#client, this.#claim(this.#isWriting ? undefined : this.#terms.signal)),
      );
      this.#hold(fence);
      return fence;
    } catch (error) {
      if (error instanceof ApiRefusal && error.status === 409) this.#lose(error.message);
      throw error;
    }
  }

  #claim(signal: AbortSignal | undefined): OwnerLeaseClaim {
    return {
      runId: this.#runId,
      holder: this.#terms.holder,
      ttlSeconds: this.#isWriting ? writingTtlSeconds : idleTtlSeconds,
      yields: !this.#isWriting,
      takeOver: this.#terms.takeOver && this.#notifiedLeading === null,
      signal,
    };
  }

  #hold(fence: number): void {
    this.#fence = fence;
    this.#isFresh = true;
    if (this.#notifiedLeading === true) return;
    this.#notifiedLeading = true;
    this.#terms.onChange(null);
  }

  #lose(leader: string): void {
    this.#fence = null;
    this.#isFresh = false;
    if (this.#notifiedLeading === false) return;
    this.#notifiedLeading = false;
    this.#terms.onChange(leader);
  }
}
