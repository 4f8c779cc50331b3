/** Reports the status of a loop to the server, on changes and before it becomes stale. */
import type { Clock } from '../../clock.ts';
import { Failure, type SourcePosition } from '../../failure.ts';
import type { SyncAnnouncements, SyncReport } from '../../model/kinds/sync-record.ts';
import { formatTimestamp } from '../../model/wire/timestamp.ts';
import type { SourceCopies } from '../cycle/source-copies.ts';
import type { AdminClient } from '../server/client.ts';
import { ApiRefusal } from '../server/refusal.ts';
import { putStatus, readStatuses } from '../server/sync-records.ts';
import type { LoopStatus } from './sync-state.ts';
import { truncateText, workspaceReports } from './workspace-reports.ts';

/** Minimum interval of reports while nothing changes. */
const renewMsMin = 60_000;
const reportMsMax = 3_000;
const messageMax = 2_000;

type WorkspaceReport = SyncReport['workspaces'][number];

export interface StatusReporterOptions {
  readonly client: AdminClient;
  /** The source as the user named it. */
  readonly source: string;
  readonly clock: Clock;
  /** Called once if the server does not store statuses. */
  readonly onMissing?: (() => void) | undefined;
  readonly follower?: StatusFollower | undefined;
  /** Sends the versions of the source that were read. */
  readonly copies?: SourceCopies | undefined;
  /**
   * Called with every report, whether or not the server can be reached. `isProvisional` until the server
   * has been reached once: another daemon may lead and know more.
   */
  readonly onReport?:
    | ((report: Omit<SyncReport, 'next_look_at'>, isProvisional: boolean) => void)
    | undefined;
}

/** Sends reports to other receivers and lets the server store what has been sent. */
export interface StatusFollower {
  /** @param before what the previous leader announced; undefined if nothing was announced */
  prepare(
    report: Omit<SyncReport, 'next_look_at'>,
    standing: LoopStatus,
    before: SyncAnnouncements | undefined,
  ): SyncAnnouncements;
  /** The announcement is stored, or cannot be: what it contains may be sent. */
  send(): void;
  /** Another run has led in the meantime. */
  forget(): void;
}

/** A lease that is held at least until its disposal. */
interface ReportLease extends AsyncDisposable {
  readonly fence: number;
}

export class StatusReporter {
  readonly #options: StatusReporterOptions;
  #turn: Promise<void> = Promise.resolve();
  #reported = '';
  #renewAt = 0;
  #isMissing = false;
  #isSuspended = false;
  /** The report of an earlier process; undefined until it has been read. */
  #before: SyncReport | null | undefined;
  /** Keyed by workspace, '' for resources outside any. */
  readonly #applied = new Map<string, string | null>();

  constructor(options: StatusReporterOptions) {
    this.#options = options;
  }

  /** Whether the server reported a suspension of the owner. */
  get isSuspended(): boolean {
    return this.#isSuspended;
  }

  /**
   * Reports changes, and repeats an unchanged report before it becomes stale. Never fails: a report
   * that cannot be sent now is sent later.
   *
   * @param hold acquires the lease for the report; called only when a report is due
   * @param waitMs time until the next look
   */
  async report(
    standing: LoopStatus,
    hold: (signal: AbortSignal) => Promise<ReportLease>,
    waitMs: number,
  ): Promise<void> {
    const one = (): Promise<void> => this.#sendReport(standing, hold, waitMs);
    this.#turn = this.#turn.then(one, one);
    await this.#turn;
  }

  /** Shows why the server cannot be reached; does nothing once it has been reached. */
  showBeforeContact(standing: LoopStatus): void {
    if (!standing.hasLooked) this.#options.onReport?.(this.#reportOf(standing), true);
  }

  /** Another run holds the lease; its report is read again before the next one. */
  forget(): void {
    this.#before = undefined;
    this.#reported = '';
    this.#options.follower?.forget();
  }

  async #sendReport(
    standing: LoopStatus,
    hold: (signal: AbortSignal) => Promise<ReportLease>,
    waitMs: number,
  ): Promise<void> {
    const { follower } = this.#options;
    const signal = AbortSignal.timeout(reportMsMax);
    let isOurs = false;
    try {
      if (this.#before === undefined) this.#before = await this.#readPrevious(standing, signal);
      const report = this.#reportOf(standing);
      this.#options.onReport?.(report, false);
      const before = this.#before?.announced;
      const announced = follower?.prepare(report, standing, before) ?? before;
      isOurs = true;
      await this.#put({ ...report, ...(announced && { announced }) }, hold, waitMs, signal);
    } catch (error) {
      const isRefused = error instanceof ApiRefusal;
      const mayPass = error instanceof Failure || isRefused || signal.aborted;
      if (!mayPass) throw error;
      if (isRefused && error.status === 409) isOurs = false;
    }
    if (isOurs) follower?.send();
  }

  async #put(
    report: Omit<SyncReport, 'next_look_at'>,
    hold: (signal: AbortSignal) => Promise<ReportLease>,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, clock, onMissing, copies } = this.#options;
    const text = JSON.stringify(report);
    const now = clock.now();
    if (this.#isMissing || (text === this.#reported && now < this.#renewAt)) return;
    const lastsMs = Math.max(waitMs, renewMsMin);
    const next = { ...report, next_look_at: formatTimestamp(now + lastsMs) };
    await using held = await hold(signal);
    const status = await putStatus(client, held.fence, next, signal);
    if (status === null) {
      this.#isMissing = true;
      return onMissing?.();
    }
    this.#isSuspended = status.suspensions.length > 0;
    await copies?.send(client, held.fence);
    this.#reported = text;
    this.#renewAt = now + lastsMs;
  }

  /**
   * Without permission to read the status, reports are still sent. While the server cannot be reached, the
   * report goes to the other receivers before the error is thrown.
   */
  async #readPrevious(standing: LoopStatus, signal: AbortSignal): Promise<SyncReport | null> {
    const { client, onReport } = this.#options;
    try {
      return (await readStatuses(client, client.owner, signal))?.[0]?.report ?? null;
    } catch (error) {
      if (error instanceof ApiRefusal) return null;
      onReport?.(this.#reportOf(standing), false);
      throw error;
    }
  }

  #reportOf(standing: LoopStatus): Omit<SyncReport, 'next_look_at'> {
    const { state, message, place, seen, applied, driftCount, result } = standing;
    return {
      source: this.#options.source.slice(0, 2048),
      commit_seen: seen,
      commit_applied: applied ?? this.#before?.commit_applied ?? null,
      state,
      message: truncateText(message, messageMax),
      error: state === 'Degraded' && message !== null ? errorOf(message, place) : null,
      drift_count: driftCount,
      workspaces:
        result === null
          ? [...(this.#before?.workspaces ?? [])]
          : workspaceReports(result, driftCount).map((one) => this.#dated(one)),
    };
  }

  /** A workspace that is not as the commit says keeps its earlier commit. */
  #dated(one: WorkspaceReport): WorkspaceReport {
    const key = one.workspace ?? '';
    const known = this.#before?.workspaces.find(({ workspace }) => workspace === one.workspace);
    if (one.state === 'Synced' && one.commit_applied !== null) {
      this.#applied.set(key, one.commit_applied);
    }
    const commit_applied = this.#applied.get(key) ?? known?.commit_applied ?? null;
    return { ...one, commit_applied };
  }
}

function errorOf(message: string, place: SourcePosition | null): SyncReport['error'] {
  const { file = null, line = null, column = null } = place ?? {};
  return { file, line, column, message: truncateText(message, messageMax) ?? '' };
}
