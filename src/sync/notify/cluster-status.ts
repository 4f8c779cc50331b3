/**
 * Publishes the sync status in a cluster: a ConfigMap with the state and an Event for each change.
 */
/*
 * The ConfigMap records what was published. Its states are compared with the current ones, Events
 * are created under names derived from its version, and then it is overwritten conditionally on
 * that version. A process that dies in between is followed by one that creates the same Events
 * under the same names. A write that fails is repeated later with the newest state only; nobody
 * waits for it.
 */
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Clock, waitAtMost } from '../../clock.ts';
import { Failure } from '../../failure.ts';
import type { KubeClient } from '../../kube/kube-client.ts';
import { createEvent } from '../../kube/kube-events.ts';
import { applyConfigMap, getObject, type KubeObject } from '../../kube/kube-objects.ts';
import { type ClusterReport, statusChanges, statusData } from './cluster-status-text.ts';

export interface ClusterStatusOptions {
  readonly owner: string;
  readonly client: KubeClient;
  readonly place: { readonly namespace: string; readonly name: string };
  /** The reporting host. */
  readonly instance: string;
  readonly clock: Clock;
  /** Called with the reason of a failed write, or null after a success. */
  readonly onOutcome: (reason: string | null) => void;
  /** Throws early when the signal is aborted. */
  readonly pause?: ((ms: number, signal: AbortSignal) => Promise<unknown>) | undefined;
}

const fieldManager = 'gatewright-status';
const pauseMsMin = 5_000;
const pauseMsMax = 300_000;
const overtakenMax = 5;
/** Interval of checks whether others changed or deleted what was written. */
const verifiedMs = 600_000;
const closingMs = 3_000;

export class ClusterStatus implements AsyncDisposable {
  readonly #options: ClusterStatusOptions;
  /** The last written status. */
  #written: { readonly text: string; readonly at: number } | null = null;
  #next: ClusterReport | null = null;
  /** Whether the next report is written only where none is shown yet. */
  #isProvisional = false;
  #work: Promise<void> | null = null;
  readonly #closing = new AbortController();

  constructor(options: ClusterStatusOptions) {
    this.#options = options;
  }

  /**
   * Returns immediately. Transitional states are not published, and a provisional report replaces no other.
   */
  show(report: ClusterReport, isProvisional: boolean): void {
    if (report.state === 'Progressing' || this.#closing.signal.aborted) return;
    if (this.#work === null && this.#isWritten(report)) return;
    this.#next = report;
    this.#isProvisional = isProvisional;
    this.#work ??= this.#writeAll();
  }

  /** Waits briefly for the write in flight, then abandons it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await waitAtMost(closingMs, this.#work);
    await this.#options.client[Symbol.asyncDispose]();
  }

  #isWritten(report: ClusterReport): boolean {
    const { text, at } = this.#written ?? { text: '', at: 0 };
    return text === JSON.stringify(report) && this.#options.clock.now() - at < verifiedMs;
  }

  async #writeAll(): Promise<void> {
    for (let failed = 0; this.#next !== null; ) {
      try {
        const report = await this.#write(this.#next);
        this.#written = { text: JSON.stringify(report), at: this.#options.clock.now() };
        if (this.#next === report) this.#next = null;
        this.#options.onOutcome(null);
        failed = 0;
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        this.#options.onOutcome(error.message);
        if (this.#closing.signal.aborted) break;
        await this.#pause(Math.min(pauseMsMax, pauseMsMin * 2 ** failed));
        failed += 1;
      }
    }
    // In the same turn as the last check, so that no new status is missed in between.
    this.#work = null;
  }

  async #pause(ms: number): Promise<void> {
    const { pause = pauseFor } = this.#options;
    const { signal } = this.#closing;
    try {
      await pause(ms, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Returns what was written: the newest report, if one arrived meanwhile. */
  async #write(first: ClusterReport): Promise<ClusterReport> {
    const { client, clock, owner, place } = this.#options;
    for (let tries = 1; tries <= overtakenMax; tries += 1) {
      const report = this.#next ?? first;
      const found =
        (await getObject(client, 'configmaps', place.namespace, place.name)) ??
        (await applyConfigMap(client, { ...place, data: {} }, null, fieldManager));
      if (found === null) continue;
      if (this.#isProvisional && found.data?.state !== undefined) return report;
      const now = clock.now();
      await this.#tellChanges(found, report, now);
      const data = statusData(owner, report, now);
      const { uid, resourceVersion } = found.metadata;
      const version = { uid, resourceVersion };
      if ((await applyConfigMap(client, { ...place, data }, version, fieldManager)) !== null)
        return report;
    }
    const message = `the ConfigMap ${place.name} of namespace ${place.namespace} keeps being changed by others`;
    throw new Failure('retryable', message);
  }

  async #tellChanges(found: KubeObject, report: ClusterReport, now: number): Promise<void> {
    const { client, owner, instance } = this.#options;
    const { namespace, name, uid, resourceVersion } = found.metadata;
    for (const { about, state, note } of statusChanges(owner, found.data ?? {}, report)) {
      const identity = `${uid}/${resourceVersion}/${about}/${state}`;
      const hash = createHash('sha256').update(identity).digest('hex').slice(0, 16);
      await createEvent(client, {
        name: `${name}.${hash}`,
        at: now,
        reason: state,
        note,
        instance,
        type: state === 'Degraded' || state === 'OutOfSync' ? 'Warning' : 'Normal',
        about: { namespace, name, uid },
      });
    }
  }
}

async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal });
}
