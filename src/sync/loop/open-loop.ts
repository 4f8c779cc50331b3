/** Assembles the loop of one owner: its cycles, the state that they lead to, and its status reports. */
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../clock.ts';
import { acquireLease, type HeldLease, type LeaseOptions } from '../apply/owner-lease.ts';
import type { CycleResult } from '../cycle/cycle-options.ts';
import { type LastAppliedOptions, readLastApplied } from '../status/last-applied.ts';
import type { LookOutcome, LoopEvent } from '../status/loop-event.ts';
import { StatusReporter, type StatusReporterOptions } from '../status/status-reporter.ts';
import { SyncState } from '../status/sync-state.ts';
import { syncSettled, type WatchOptions, watch } from './watch.ts';

/** The source, the server and the terms of the loop. */
export interface LoopOptions
  extends Omit<
    WatchOptions,
    | 'allowDeletes'
    | 'looksAtOwnFirst'
    | 'readApplied'
    | 'lead'
    | 'takeLease'
    | 'pause'
    | 'onLook'
    | 'onEvent'
  > {
  /** Names the source in the status that the server stores. */
  readonly source: string;
  /** Reads the valid part of the source at a commit of its Git repository. */
  readonly readAt: LastAppliedOptions['readAt'];
  /** Callbacks of the status reports. */
  readonly reports?:
    | Omit<StatusReporterOptions, 'client' | 'source' | 'clock' | 'copies'>
    | undefined;
}

/** The lease that a daemon holds between its cycles. */
interface LoopLease {
  /** Null while another daemon leads. */
  readonly fence: number | null;
  lead(): Promise<number | null>;
  takeForWrites(terms: LeaseOptions): Promise<HeldLease>;
}

/** How the assembled loop runs. */
interface LoopRun {
  /** Without one, each writing cycle and each status report acquires a lease of its own. */
  readonly lease?: LoopLease | undefined;
  /** Waits between two looks, see `WatchOptions.pause`; a plain timer when absent. */
  readonly pause?: WatchOptions['pause'];
  readonly onLook?: ((look: LookOutcome) => void) | undefined;
  /** `lagMs` is the time from the first look at a version to its being applied; else null. */
  readonly onEvent: (event: LoopEvent, lagMs: number | null) => void;
}

/** Opens the loop that `gatewright up` and `gatewright sync` run; nothing starts before `run`. */
export function openLoop(options: LoopOptions): SyncLoop {
  return new SyncLoop(options);
}

class SyncLoop {
  readonly state = new SyncState(systemClock);
  readonly #options: LoopOptions;
  readonly #reporter: StatusReporter;
  #lease: LoopLease | undefined;
  /** Time until the next look, ms. */
  #waitMs = 0;

  constructor(options: LoopOptions) {
    const { client, source, reports, copies } = options;
    this.#options = options;
    this.#reporter = new StatusReporter({ ...reports, client, source, copies, clock: systemClock });
  }

  /** Whether the server reported a suspension of this owner with the last status report. */
  get isSuspended(): boolean {
    return this.#reporter.isSuspended;
  }

  /** Discards what has been reported so far, because another daemon leads and reports now. */
  forgetReports(): void {
    this.#reporter.forget();
  }

  /** Runs until the signal is aborted. */
  async run({ lease, pause = pauseFor, onLook, onEvent }: LoopRun): Promise<void> {
    const { source, readAt, reports: _, ...terms } = this.#options;
    const { client, signal } = terms;
    this.#lease = lease;
    await watch({
      ...terms,
      ...unattendedTerms,
      readApplied: (invalid) => readLastApplied(invalid, { client, source, readAt, signal }),
      ...(lease === undefined
        ? {}
        : {
            lead: () => lease.lead(),
            takeLease: (wanted: LeaseOptions) => lease.takeForWrites(wanted),
          }),
      pause: async (ms, aborted) => {
        this.#waitMs = ms;
        await this.report();
        return await pause(ms, aborted);
      },
      onLook: (look) => {
        this.state.onLook(look);
        onLook?.(look);
      },
      onEvent: (event) => onEvent(event, this.state.onEvent(event)),
    });
  }

  /** Syncs once; what left the source is deleted if it is still gone a settling time later. */
  async runOnce(): Promise<CycleResult> {
    return await syncSettled({ ...this.#options, ...unattendedTerms });
  }

  /** Reports the state to the server when it is due and this loop leads; never fails. */
  async report(): Promise<void> {
    const lease = this.#lease;
    if (lease === undefined) return await this.#reportUnderOwnLease();
    const { fence } = lease;
    if (fence === null) {
      this.#reporter.showBeforeContact(this.state.status);
      return;
    }
    const held = { fence, [Symbol.asyncDispose]: async () => undefined };
    await this.#reporter.report(this.state.status, async () => held, this.#waitMs);
  }

  /** Reports nothing while another run holds the lease. */
  async #reportUnderOwnLease(): Promise<void> {
    const { client, holder, signal } = this.#options;
    if (signal.aborted) return;
    const terms = { holder, takeOver: false, takeOverCommand: '', waitMs: 0 };
    await this.#reporter.report(
      this.state.status,
      (until) => acquireLease(client, { ...terms, signal: until }),
      this.#waitMs,
    );
  }
}

/** Nobody watches a loop, so no deletes are released; an unchanged source costs one small request. */
const unattendedTerms = { allowDeletes: null, looksAtOwnFirst: true } as const;

async function pauseFor(ms: number, signal: AbortSignal): Promise<undefined> {
  await delay(ms, undefined, { signal });
}
