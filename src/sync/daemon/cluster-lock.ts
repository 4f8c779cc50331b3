/** Holds a Kubernetes Lease, so that only one of several daemons leads. */
/*
 * The server guarantees correctness: it refuses the writes of a daemon without the owner's lease.
 * This Lease shows earlier, and to cluster tools, who leads. Whether another holder's Lease has
 * expired is judged by the time since its last observed change, on this machine's monotonic clock,
 * never by the timestamps in it. Every write is conditional on the version that was read. A holder
 * relies on its Lease for less time than others respect it, counted from before the request, so two
 * daemons never both do.
 */

import { randomUUID } from 'node:crypto';
import { type Clock, waitAtMost } from '../../clock.ts';
import { detach } from '../../detached.ts';
import { Failure } from '../../failure.ts';
import type { KubeClient } from '../../kube/kube-client.ts';
import { getLease, type KubeLease, type LeaseName, writeLease } from '../../kube/leases.ts';

export interface ClusterLockOptions {
  readonly client: KubeClient;
  readonly place: LeaseName;
  /** Name of this host, for people. */
  readonly host: string;
  readonly clock: Clock;
  /** Monotonic milliseconds; the origin is arbitrary. */
  readonly monotonicMs?: (() => number) | undefined;
  /** Called when this daemon acquires or loses the Lease. */
  readonly onChange: (isHeld: boolean) => void;
}

const durationSeconds = 15;
/** A holder stops relying on the Lease after this long without confirmation. */
const deadlineMs = 10_000;
const turnMs = 2_000;
const releaseMsMax = 1_000;
/** Limits of one request, chosen so that two fit into the deadline. */
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
  #notifiedHeld = false;
  /** The Lease at its last observed change, and the time of that observation. */
  #seen: { readonly lease: KubeLease; readonly at: number } | null = null;
  #acquiredAt = 0;
  #trouble: string | null = null;
  #turn: Promise<void> | null = null;

  constructor(options: ClusterLockOptions) {
    this.#options = options;
    this.#identity = `${options.host}_${randomUUID()}`;
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
    this.#timer = setInterval(
      () => detach('confirming the Lease of the cluster', this.confirm()),
      turnMs,
    ).unref();
  }

  /** Why this daemon may not lead; null while it holds the Lease. */
  get standbyReason(): string | null {
    if (this.#monotonicMs() < this.#heldUntil) return null;
    const { namespace, name } = this.#options.place;
    const holder = this.#seen?.lease.spec?.holderIdentity ?? '';
    const why =
      this.#trouble ?? (holder === '' || holder === this.#identity ? 'nobody yet' : holder);
    return `the Lease ${name} of namespace ${namespace} is not held here: ${why}`;
  }

  /** Acquires or confirms the Lease, one request at a time. Never rejects for temporary errors. */
  confirm(): Promise<void> {
    this.#turn ??= this.#ask().finally(() => {
      this.#turn = null;
    });
    return this.#turn;
  }

  /** Releases the Lease, so that another daemon need not wait for its expiry. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#turn;
    const isHeld = this.standbyReason === null;
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
    const requestedAt = this.#monotonicMs();
    try {
      if (await this.#hold()) this.#heldUntil = requestedAt + deadlineMs;
      this.#trouble = null;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.#trouble = error.message;
    }
    const isHeld = this.standbyReason === null;
    if (isHeld === this.#notifiedHeld) return;
    this.#notifiedHeld = isHeld;
    this.#options.onChange(isHeld);
  }

  async #hold(): Promise<boolean> {
    const isOurs = this.#seen?.lease.spec?.holderIdentity === this.#identity;
    // The last write of this daemon is the newest version, unless the next write is refused.
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

  /** Measured from the response that first showed this state: it cannot have changed later. */
  #isFree({ spec = {} }: KubeLease): boolean {
    const { holderIdentity, leaseDurationSeconds } = spec;
    if (holderIdentity === undefined || holderIdentity === null || holderIdentity === '')
      return true;
    if (holderIdentity === this.#identity) return true;
    const lastsMs = (leaseDurationSeconds ?? durationSeconds) * 1000;
    return this.#monotonicMs() - this.#seen!.at >= lastsMs;
  }

  /** Returns false when another daemon was first. */
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
