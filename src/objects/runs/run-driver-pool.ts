/** Manages the runs that this process drives, and takes over runs of dead processes. */
import { detach } from '../../detached.ts';
import { newId } from '../../model/wire/ids.ts';
import type { RunLease, StoredRun } from '../../store/objects/runs.ts';
import * as runs from '../../store/objects/runs.ts';
import { RunDriver, type RunDriverOptions } from './run-driver.ts';
import type { RunEvents } from './run-events.ts';

export interface RunDriverPoolOptions extends Omit<RunDriverOptions, 'leaseMs'> {
  /** Receives errors of background work. */
  readonly onFault: (error: unknown, runId: string) => void;
  /** False while no run is known to have lost its driver. */
  readonly mayHaveLost?: () => boolean;
}

/** A driver that does not renew its lease within this time counts as dead. */
const leaseMs = 30_000;
/** Renewal interval; also bounds the time until a cancellation elsewhere is noticed. */
const renewalMs = 2_000;
const takeOverMs = 5_000;
/** Maximum runs taken over at a time. */
const takenOverMax = 20;

interface ActiveDrive {
  readonly runId: string;
  readonly drive: RunDriver;
  readonly over: Promise<void>;
}

export class RunDriverPool implements AsyncDisposable {
  readonly #options: RunDriverPoolOptions;
  readonly #driven = new Set<ActiveDrive>();
  #timers: readonly NodeJS.Timeout[] = [];
  #isClosed = false;

  constructor(options: RunDriverPoolOptions) {
    this.#options = options;
  }

  /** Starts the timers. `requireConnection` throws until the database has been verified. */
  start(requireConnection: () => void): void {
    const every = (ms: number, work: () => Promise<unknown>): NodeJS.Timeout =>
      setInterval(
        () =>
          detach(
            'a timer of runs',
            work().catch(() => undefined),
          ),
        ms,
      ).unref();
    this.#timers = [
      every(renewalMs, () => this.renewLeases()),
      every(takeOverMs, async () => {
        if (this.#options.mayHaveLost?.() === false) return;
        requireConnection();
        await this.takeOver();
      }),
    ];
  }

  /** A lease to be written with the run before it is driven. */
  newLease(): RunLease {
    return { owner: newId(), until: this.#options.now() + leaseMs };
  }

  /** Drives the run in the background; it must be leased to this process. */
  drive(run: StoredRun, events: RunEvents | null): void {
    const { onFault } = this.#options;
    const drive = new RunDriver(run, run.lease_owner!, { ...this.#options, leaseMs }, events);
    const ended = drive.run().catch((error: unknown) => {
      onFault(error, run.id);
      events?.emit('error', {
        error: { message: 'Internal Server Error', type: 'server_error' },
      });
      events?.end();
    });
    const driven: ActiveDrive = {
      runId: run.id,
      drive,
      over: ended.finally(() => this.#driven.delete(driven)),
    };
    this.#driven.add(driven);
    if (this.#isClosed)
      detach(
        'releasing a run',
        drive.release().catch(() => undefined),
      );
  }

  /** Renews the run's lease at once if this process drives it, which detects a cancellation. */
  async renewLease(runId: string): Promise<void> {
    const driven = [...this.#driven].filter((entry) => entry.runId === runId);
    await Promise.allSettled(driven.map(({ drive }) => drive.renewLease()));
  }

  async renewLeases(): Promise<void> {
    const driven = [...this.#driven];
    await Promise.allSettled(driven.map(({ drive }) => drive.renewLease()));
  }

  /** Takes over runs whose drivers are dead; returns their number. */
  async takeOver(): Promise<number> {
    const { database, now } = this.#options;
    const at = now();
    let taken = 0;
    for (const run of await runs.listLost(database.db, at, takenOverMax)) {
      if (this.#isClosed) break;
      const lease = this.newLease();
      if (!(await runs.claim(database.db, run, lease, at))) continue;
      const claimed = await runs.findOwned(database.db, run, lease.owner);
      if (claimed === undefined) continue;
      this.drive(claimed, null);
      taken += 1;
    }
    return taken;
  }

  /** Releases all runs for other processes. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#timers) clearInterval(timer);
    const driven = [...this.#driven];
    await Promise.allSettled(driven.map(({ drive }) => drive.release()));
    await Promise.allSettled(driven.map(({ over }) => over));
  }
}
