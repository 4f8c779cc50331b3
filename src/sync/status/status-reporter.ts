/** Knows what a daemon tells the server of where it stands, and when it has to tell it again. */
import type { Clock } from '../../clock.ts';
import { Failure, type Place } from '../../failure.ts';
import type { Announcements, SyncReport } from '../../model/kinds/sync-record.ts';
import { formatTimestamp } from '../../model/wire/timestamp.ts';
import type { AdminClient } from '../server/client.ts';
import { ApiRefusal } from '../server/refusal.ts';
import { readStatuses, tellStatus } from '../server/sync-records.ts';
import type { Standing } from './sync-state.ts';
import { cut, workspacesOf } from './workspace-reports.ts';

/** What is told is renewed no more often than this while nothing changes. */
const renewMsMin = 60_000;
const tellMsMax = 3_000;
const messageMax = 2_000;

type WorkspaceReport = SyncReport['workspaces'][number];

export interface StatusReporterOptions {
  readonly client: AdminClient;
  /** As the user named it. */
  readonly source: string;
  readonly clock: Clock;
  /** Told once, where the server keeps no status. */
  readonly onMissing?: (() => void) | undefined;
  readonly follower?: Follower | undefined;
  /** Told what the server is to be told, whether or not it can be. */
  readonly onReport?: ((report: Omit<SyncReport, 'next_look_at'>) => void) | undefined;
}

/** Who tells others what the server is told, and has the server keep what it told them. */
export interface Follower {
  /** @param before of whoever led before; undefined where nobody has told anything */
  note(
    report: Omit<SyncReport, 'next_look_at'>,
    standing: Standing,
    before: Announcements | undefined,
  ): Announcements;
  /** What was noted is kept, or nobody can be asked to keep it: whatever it says may go out. */
  send(): void;
  /** Another run has led in between. */
  forget(): void;
}

/** Of a lease that is held, until its disposal at least. */
interface Hold extends AsyncDisposable {
  readonly fence: number;
}

export class StatusReporter {
  readonly #options: StatusReporterOptions;
  #turn: Promise<void> = Promise.resolve();
  #told = '';
  #renewAt = 0;
  #isMissing = false;
  #isSuspended = false;
  /** Of a process before this one; undefined until it was asked for. */
  #before: SyncReport | null | undefined;
  /** By workspace, '' for what is in none. */
  readonly #applied = new Map<string, string | null>();

  constructor(options: StatusReporterOptions) {
    this.#options = options;
  }

  /** Whether the server said that something of the owner is suspended. */
  get isSuspended(): boolean {
    return this.#isSuspended;
  }

  /**
   * Tells what has changed since the last time, or the same before it counts as stale. What cannot be
   * told now is told later: nothing here fails.
   *
   * @param hold the lease under which it is told, asked for only where something is
   * @param waitMs time until the next look
   */
  async report(
    standing: Standing,
    hold: (signal: AbortSignal) => Promise<Hold>,
    waitMs: number,
  ): Promise<void> {
    const one = (): Promise<void> => this.#tell(standing, hold, waitMs);
    this.#turn = this.#turn.then(one, one);
    await this.#turn;
  }

  /** Another run has the lease: what it tells in the meantime is asked for anew. */
  forget(): void {
    this.#before = undefined;
    this.#told = '';
    this.#options.follower?.forget();
  }

  async #tell(
    standing: Standing,
    hold: (signal: AbortSignal) => Promise<Hold>,
    waitMs: number,
  ): Promise<void> {
    const { follower } = this.#options;
    const signal = AbortSignal.timeout(tellMsMax);
    let isOurs = false;
    try {
      if (this.#before === undefined) this.#before = await this.#ask(signal);
      const report = this.#reportOf(standing);
      this.#options.onReport?.(report);
      const before = this.#before?.announced;
      const announced = follower?.note(report, standing, before) ?? before;
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
    hold: (signal: AbortSignal) => Promise<Hold>,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, clock, onMissing } = this.#options;
    const text = JSON.stringify(report);
    const now = clock.now();
    if (this.#isMissing || (text === this.#told && now < this.#renewAt)) return;
    const lastsMs = Math.max(waitMs, renewMsMin);
    const next = { ...report, next_look_at: formatTimestamp(now + lastsMs) };
    await using held = await hold(signal);
    const status = await tellStatus(client, held.fence, next, signal);
    if (status === null) {
      this.#isMissing = true;
      return onMissing?.();
    }
    this.#isSuspended = status.suspensions.length > 0;
    this.#told = text;
    this.#renewAt = now + lastsMs;
  }

  /** One that may not read it tells all the same. */
  async #ask(signal: AbortSignal): Promise<SyncReport | null> {
    const { client } = this.#options;
    try {
      return (await readStatuses(client, client.owner, signal))?.[0]?.report ?? null;
    } catch (error) {
      if (error instanceof ApiRefusal) return null;
      throw error;
    }
  }

  #reportOf(standing: Standing): Omit<SyncReport, 'next_look_at'> {
    const { state, message, place, seen, applied, driftCount, result } = standing;
    return {
      source: this.#options.source.slice(0, 2048),
      commit_seen: seen,
      commit_applied: applied ?? this.#before?.commit_applied ?? null,
      state,
      message: cut(message, messageMax),
      error: state === 'Degraded' && message !== null ? errorOf(message, place) : null,
      drift_count: driftCount,
      workspaces:
        result === null
          ? [...(this.#before?.workspaces ?? [])]
          : workspacesOf(result, driftCount).map((one) => this.#dated(one)),
    };
  }

  /** One that is not as the commit says has what it had before. */
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

function errorOf(message: string, place: Place | null): SyncReport['error'] {
  const { file = null, line = null, column = null } = place ?? {};
  return { file, line, column, message: cut(message, messageMax) ?? '' };
}
