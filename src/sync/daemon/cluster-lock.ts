/** Knows how one of several daemons comes to hold a Lease of Kubernetes, and when it no longer may count on it. */
/*
 * Correctness rests with the server, which refuses the writes of whoever does not hold the lease of the
 * owner; this one says earlier and to more people who leads. Whether the Lease of another has run out is
 * judged by the time since it was last seen to change, on this machine's own clock that no one sets:
 * never by what it says of moments. Every write names the version that was read. A holder counts on it
 * for less time than others leave it alone, from before it asked, so that no two ever do.
 */
import { randomUUID } from 'node:crypto';
import { type Clock, waitAtMost } from '../../clock.ts';
import { Failure } from '../../failure.ts';
import type { KubeClient } from '../../kube/kube-client.ts';
import { getLease, type KubeLease, type LeaseName, writeLease } from '../../kube/leases.ts';

export interface ClusterLockOptions {
  readonly client: KubeClient;
  readonly place: LeaseName;
  /** Of this host, for people. */
  readonly host: string;
  readonly clock: Clock;
  /** ms of a clock that nobody sets; its start means nothing. */
  readonly monotonicMs?: (() => number) | undefined;
  /** Told when this daemon comes to hold it, and when it no longer does. */
  readonly onChange: (isHeld: boolean) => void;
}

const durationSeconds = 15;
/** A holder that was not confirmed for this long does not count on it any more. */
const deadlineMs = 10_000;
const turnMs = 2_000;
const releaseMsMax = 1_000;
/** What a request may take, so that two fit into the deadline. */
export const lockCallLimits = {
  connectTimeoutMs: 1_500,
  responseTimeoutMs: 3_000,
  triesMax: 1,
  failFastMs: 0,
};

export class ClusterLock implements AsyncDisposable {
  readonly #options: ClusterLockOptions;
  readonly #identity: string;
  readonly #monotonicMs: () => number;
  readonly #timer: NodeJS.Timeout;
  #heldUntil = Number.NEGATIVE_INFINITY;
  #toldHeld = false;
  /** As it was when it last changed, and when that was seen. */
  #seen: { readonly lease: KubeLease; readonly at: number } | null = null;
  #acquiredAt = 0;
  #trouble: string | null = null;
  #turn: Promise<void> | null = null;

  constructor(options: ClusterLockOptions) {
    this.#options = options;
    this.#identity = `${options.host}_${randomUUID()}`;
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
    this.#timer = setInterval(() => void this.turn(), turnMs).unref();
  }

  /** Why this daemon may not lead; null while it holds the Lease. */
  get keptBack(): string | null {
    if (this.#monotonicMs() < this.#heldUntil) return null;
    const { namespace, name } = this.#options.place;
    const holder = this.#seen?.lease.spec?.holderIdentity ?? '';
    const why =
      this.#trouble ?? (holder === '' || holder === this.#identity ? 'nobody yet' : holder);
    return `the Lease ${name} of namespace ${namespace} is not held here: ${why}`;
  }

  /** Asks for it, or confirms it; one at a time. Never rejects for what may pass. */
  turn(): Promise<void> {
    this.#turn ??= this.#ask().finally(() => {
      this.#turn = null;
    });
    return this.#turn;
  }

  /** Gives it back, so that another need not wait. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#turn;
    const isHeld = this.keptBack === null;
    this.#heldUntil = Number.NEGATIVE_INFINITY;
    const { client } = this.#options;
    if (isHeld)
      await waitAtMost(
        releaseMsMax,
        this.#write('', 1).catch(() => undefined),
      );
    await client[Symbol.asyncDispose]();
  }

  async #ask(): Promise<void> {
    const askedAt = this.#monotonicMs();
    try {
      if (await this.#hold()) this.#heldUntil = askedAt + deadlineMs;
      this.#trouble = null;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.#trouble = error.message;
    }
    const isHeld = this.keptBack === null;
    if (isHeld === this.#toldHeld) return;
    this.#toldHeld = isHeld;
    this.#options.onChange(isHeld);
  }

  async #hold(): Promise<boolean> {
    const isOurs = this.#seen?.lease.spec?.holderIdentity === this.#identity;
    // What was written here last is the newest, unless the write is refused.
    if (isOurs && (await this.#write(this.#identity, durationSeconds))) return true;
    const { client, place } = this.#options;
    const found = await getLease(client, place);
    this.#see(found);
    if (found !== null && !this.#isFree(found)) {
      this.#heldUntil = Number.NEGATIVE_INFINITY;
      return false;
    }
    this.#acquiredAt = this.#options.clock.now();
    return await this.#write(this.#identity, durationSeconds);
  }

  #see(found: KubeLease | null): void {
    const isSame = found?.metadata.resourceVersion === this.#seen?.lease.metadata.resourceVersion;
    if (found === null) this.#seen = null;
    else if (!isSame) this.#seen = { lease: found, at: this.#monotonicMs() };
  }

  /** Measured from the answer that first showed it so: it cannot have changed later. */
  #isFree({ spec = {} }: KubeLease): boolean {
    const { holderIdentity, leaseDurationSeconds } = spec;
    if (holderIdentity === undefined || holderIdentity === null || holderIdentity === '')
      return true;
    if (holderIdentity === this.#identity) return true;
    const lastsMs = (leaseDurationSeconds ?? durationSeconds) * 1000;
    return this.#monotonicMs() - this.#seen!.at >= lastsMs;
  }

  /** False when somebody else was first. */
  async #write(identity: string, seconds: number): Promise<boolean> {
    const { client, place, clock } = this.#options;
    const { metadata, spec = {} } = this.#seen?.lease ?? { metadata: null };
    const isRenewal = spec.holderIdentity === this.#identity;
    const version = metadata && { uid: metadata.uid, resourceVersion: metadata.resourceVersion };
    const written = await writeLease(client, place, version, {
      identity,
      durationSeconds: seconds,
      acquiredAt: this.#acquiredAt,
      transitions: (spec.leaseTransitions ?? 0) + Number(metadata !== null && !isRenewal),
      renewedAt: clock.now(),
    });
    if (written !== null) this.#seen = { lease: written, at: this.#monotonicMs() };
    return written !== null;
  }
}
