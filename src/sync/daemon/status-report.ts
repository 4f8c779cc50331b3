/** Knows what a daemon tells the server of where it stands, and when it has to tell it again. */
import type { Clock } from '../../clock.ts';
import { Failure, type Place } from '../../failure.ts';
import { reportedWorkspacesMax, type SyncReport } from '../../model/sync-record.ts';
import { formatTimestamp } from '../../model/timestamp.ts';
import type { AdminClient } from '../server/client.ts';
import { ApiRefusal } from '../server/refusal.ts';
import { readStatuses, tellStatus } from '../server/sync-records.ts';
import { commitOf, workspaceOf } from '../spec/resource-set.ts';
import type { Standing, StateName } from './sync-state.ts';

/** What is told is renewed no more often than this while nothing changes. */
const renewMsMin = 60_000;
const tellMsMax = 3_000;
const messageMax = 2_000;
const workspaceMessageMax = 150;

type WorkspaceReport = SyncReport['workspaces'][number];

export interface TellerOptions {
  readonly client: AdminClient;
  /** As the user named it. */
  readonly source: string;
  readonly clock: Clock;
  /** Told once, where the server keeps no status. */
  readonly onMissing: () => void;
}

/** Of a lease that is held, until its disposal at least. */
interface Hold extends AsyncDisposable {
  readonly fence: number;
}

export class StatusTeller {
  readonly #options: TellerOptions;
  #told = '';
  #renewAt = 0;
  #isMissing = false;
  #isSuspended = false;
  /** Of a process before this one; undefined until it was asked for. */
  #before: SyncReport | null | undefined;
  /** By workspace, '' for what is in none. */
  readonly #applied = new Map<string, string | null>();

  constructor(options: TellerOptions) {
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
  async tell(
    standing: Standing,
    hold: (signal: AbortSignal) => Promise<Hold>,
    waitMs: number,
  ): Promise<void> {
    const { client, clock } = this.#options;
    if (this.#isMissing) return;
    const signal = AbortSignal.timeout(tellMsMax);
    try {
      if (this.#before === undefined) this.#before = await this.#ask(signal);
      const report = this.#reportOf(standing);
      const text = JSON.stringify(report);
      const now = clock.now();
      if (text === this.#told && now < this.#renewAt) return;
      const lastsMs = Math.max(waitMs, renewMsMin);
      const next = { ...report, next_look_at: formatTimestamp(now + lastsMs) };
      await using held = await hold(signal);
      const status = await tellStatus(client, held.fence, next, signal);
      if (status === null) {
        this.#isMissing = true;
        this.#options.onMissing();
        return;
      }
      this.#isSuspended = status.suspensions.length > 0;
      this.#told = text;
      this.#renewAt = now + lastsMs;
    } catch (error) {
      const mayPass = error instanceof Failure || error instanceof ApiRefusal || signal.aborted;
      if (!mayPass) throw error;
    }
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
    const { state, message, place, seen, applied, driftCount } = standing;
    return {
      source: this.#options.source.slice(0, 2048),
      commit_seen: seen,
      commit_applied: applied ?? this.#before?.commit_applied ?? null,
      state,
      message: cut(message, messageMax),
      error: state === 'Degraded' && message !== null ? errorOf(message, place) : null,
      drift_count: driftCount,
      workspaces: this.#workspacesOf(standing),
    };
  }

  #workspacesOf({ result, driftCount }: Standing): WorkspaceReport[] {
    if (result === null) return [...(this.#before?.workspaces ?? [])];
    const { plan, report } = result;
    const found = new Map<string, WorkspaceReport>();
    const commit = commitOf(plan.source);
    const at = (workspace: string | null): WorkspaceReport => {
      const known = found.get(workspace ?? '');
      if (known !== undefined) return known;
      const fresh: WorkspaceReport = {
        ...{ workspace, commit_applied: commit, state: 'Synced', message: null, drift_count: 0 },
      };
      found.set(workspace ?? '', fresh);
      return fresh;
    };
    const worsen = (workspace: string | null, state: StateName, message: string): void => {
      const one = at(workspace);
      if (one.state === 'Synced') {
        Object.assign(one, { state, message: cut(message, workspaceMessageMax) });
      }
    };
    for (const live of plan.live.values()) {
      if (live.owner === plan.owner) at(workspaceOf(live.identity));
    }
    for (const { fault, workspaces } of plan.faults) {
      for (const workspace of workspaces) worsen(workspace, 'Degraded', fault.message);
    }
    const places = new Map(plan.changes.map((change) => [change.id, workspaceOf(change.identity)]));
    for (const { id, status, message } of report?.items ?? []) {
      const workspace = places.get(id) ?? null;
      if (status === 'done') at(workspace);
      else worsen(workspace, 'Degraded', `${id}: ${message}`);
    }
    for (const { id, identity, reason, message } of plan.blocked) {
      const state = reason === 'suspended' ? 'Suspended' : 'OutOfSync';
      worsen(workspaceOf(identity), state, `${id} is blocked: ${message}`);
    }
    if (report === null) {
      for (const { identity, action, id } of plan.changes) {
        if (action === 'retain') continue;
        const workspace = workspaceOf(identity);
        worsen(workspace, 'OutOfSync', `${id}: ${action}`);
        if (driftCount > 0) at(workspace).drift_count += 1;
      }
    }
    return [...found.values()].slice(0, reportedWorkspacesMax).map((one) => this.#dated(one));
  }

  /** One that is not as the commit says has what it had before. */
  #dated(one: WorkspaceReport): WorkspaceReport {
    const key = one.workspace ?? '';
    const known = this.#before?.workspaces.find(({ workspace }) => workspace === one.workspace);
    if (one.state === 'Synced') this.#applied.set(key, one.commit_applied);
    const commit_applied = this.#applied.get(key) ?? known?.commit_applied ?? null;
    return { ...one, commit_applied };
  }
}

function errorOf(message: string, place: Place | null): SyncReport['error'] {
  const { file = null, line = null, column = null } = place ?? {};
  return { file, line, column, message: cut(message, messageMax) ?? '' };
}

function cut(text: string | null, max: number): string | null {
  return text === null || text.length <= max ? text : `${text.slice(0, max - 1)}…`;
}
