/** Knows how a cluster is shown where a sync stands: a ConfigMap that says it, and one Event for each change. */
/*
 * The ConfigMap is the record of what was told. Its states are compared with those that hold, the Events
 * go out under names that follow from its version, and then it is written over that version: a process
 * that dies in between is followed by one that tells the same Events under the same names. What cannot
 * be written now is written later, the newest only; nobody waits for it.
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
  /** Who tells it: a host. */
  readonly instance: string;
  readonly clock: Clock;
  /** With why it could not be written, or null once it was. */
  readonly onOutcome: (reason: string | null) => void;
  /** Ends early, by throwing, when the signal is aborted. */
  readonly pause?: ((ms: number, signal: AbortSignal) => Promise<unknown>) | undefined;
}

const fieldManager = 'gatewright-status';
const pauseMsMin = 5_000;
const pauseMsMax = 300_000;
const overtakenMax = 5;
/** What was written is looked at again after this long: others may have changed or deleted it. */
const verifiedMs = 600_000;
const closingMs = 3_000;

export class ClusterStatus implements AsyncDisposable {
  readonly #options: ClusterStatusOptions;
  /** Of what was written last. */
  #written: { readonly text: string; readonly at: number } | null = null;
  #next: ClusterReport | null = null;
  #work: Promise<void> | null = null;
  readonly #closing = new AbortController();

  constructor(options: ClusterStatusOptions) {
    this.#options = options;
  }

  /** Returns at once. What is passing through is not shown. */
  show(report: ClusterReport): void {
    if (report.state === 'Progressing' || this.#closing.signal.aborted) return;
    if (this.#work === null && this.#isWritten(report)) return;
    this.#next = report;
    this.#work ??= this.#writeAll();
  }

  /** Waits a little for what is under way, and gives it up. */
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
    // In the same turn as the last look, so that nothing is put in between and left lying.
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

  /** Yields what was written: the newest, where one has come meanwhile. */
  async #write(first: ClusterReport): Promise<ClusterReport> {
    const { client, clock, owner, place } = this.#options;
    for (let tries = 1; tries <= overtakenMax; tries += 1) {
      const report = this.#next ?? first;
      const found =
        (await getObject(client, 'configmaps', place.namespace, place.name)) ??
        (await applyConfigMap(client, { ...place, data: {} }, null, fieldManager));
      if (found === null) continue;
      const now = clock.now();
      await this.#tellChanges(found, report, now);
      const data = statusData(owner, report, now);
      const { uid, resourceVersion } = found.metadata;
      const version = { uid, resourceVersion };
      if ((await applyConfigMap(client, { ...place, data }, version, fieldManager)) !== null)
        return report;
    }
    const message = `the ConfigMap ${place.name} of namespace ${place.namespace} is written by others all the time`;
    throw new Failure('retryable', message);
  }

  async #tellChanges(found: KubeObject, report: ClusterReport, now: number): Promise<void> {
    const { client, owner, instance } = this.#options;
    const { namespace, name, uid, resourceVersion } = found.metadata;
    for (const { about, state, note } of statusChanges(owner, found.data ?? {}, report)) {
      const told = `${uid}/${resourceVersion}/${about}/${state}`;
      const hash = createHash('sha256').update(told).digest('hex').slice(0, 16);
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
