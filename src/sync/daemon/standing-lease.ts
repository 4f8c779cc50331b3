/** Knows how one daemon of an owner leads and the others stand by: a lease that is held on between cycles. */
/*
 *   standing by   asks now and then          had -> idle
 *   idle          renews, and yields: a run with something to write, such as `apply`, comes in at once,
 *                 another daemon does not    refused -> standing by
 *   writing       renews, and yields to nobody; back to idle when the cycle is over
 *
 * Where something else has to be held first, a daemon that does not hold it stands by, and gives back
 * the lease as soon as it writes nothing.
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
import { Turns } from './turns.ts';

/** Longer than while something is written, because nobody waits for it. */
const idleTtlSeconds = 30;
const writingTtlSeconds = 15;
const tickMs = 5_000;
/** Of renewals while nothing is written. */
const idleTicks = 2;

export interface StandingTerms
  extends Pick<LeaseOptions, 'holder' | 'takeOver' | 'takeOverCommand' | 'signal'> {
  /** Why this daemon is not to lead whatever the server says; null where nothing keeps it back. */
  readonly keptBack?: (() => string | null) | undefined;
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
  #ticks = 0;
  readonly #claims = new Turns();

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
    const keptBack = this.#terms.keptBack?.() ?? null;
    if (keptBack !== null) return await this.#stepDown(keptBack);
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
      const fence = await this.#claims.take(() =>
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
    await this.#claims.over();
    if (this.#fence !== null) await releaseLease(this.#client, this.#fence);
  }

  #tick(): void {
    this.#ticks += 1;
    if (this.#fence === null || this.#claims.isUnderWay) return;
    const keptBack = this.#isWriting ? null : (this.#terms.keptBack?.() ?? null);
    if (keptBack !== null) return void this.#stepDown(keptBack);
    if (!this.#isWriting && this.#ticks % idleTicks !== 0) return;
    this.#isFresh = false;
    // What it fails of, the next question meets, too.
    this.#renew().catch(() => undefined);
  }

  /** So that whoever is to lead need not wait for the lease to end. */
  async #stepDown(leader: string): Promise<null> {
    await this.#claims.take(async () => {
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
      const fence = await this.#claims.take(() =>
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
