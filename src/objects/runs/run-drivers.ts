/** Manages the runs that this process drives, and takes over runs of dead processes. */
import { newId } from '../../model/wire/ids.ts';
import type { Lease, StoredRun } from '../../store/objects/runs.ts';
import * as runs from '../../store/objects/runs.ts';
import { Drive, type DriveOptions } from './drive.ts';
import type { RunEvents } from './run-events.ts';

export interface RunDriversOptions extends Omit<DriveOptions, 'leaseMs'> {
  /** Receives errors of background work. */
  readonly onFault: (error: unknown, runId: string) => void;
}

/** A driver that does not renew its lease within this time counts as dead. */
const leaseMs = 30_000;
/** Renewal interval; also bounds the time until a cancellation elsewhere is noticed. */
const signEveryMs = 2_000;
const lookEveryMs = 5_000;
/** Maximum runs taken over at a time. */
const takenOverMax = 20;

interface ActiveDrive {
  readonly runId: string;
  readonly drive: Drive;
  readonly over: Promise<void>;
}

export class RunDrivers implements AsyncDisposable {
  readonly #options: RunDriversOptions;
  readonly #driven = new Set<ActiveDrive>();
  #timers: readonly NodeJS.Timeout[] = [];
  #isClosed = false;

  constructor(options: RunDriversOptions) {
    this.#options = options;
  }

  /** Starts the timers. `requireConnection` throws until the database has been verified. */
  start(requireConnection: () => void): void {
    const every = (ms: number, work: () => Promise<unknown>): NodeJS.Timeout =>
      setInterval(() => void work().catch(() => undefined), ms).unref();
    this.#timers = [
      every(signEveryMs, () => this.giveSigns()),
      every(lookEveryMs, async () => {
        requireConnection();
        await this.takeOver();
      }),
    ];
  }

  /** A lease to be written with the run before it is driven. */
  newLease(): Lease {
    return { owner: newId(), until: this.#options.now() + leaseMs };
  }

  /** Drives the run in the background; it must be leased to this process. */
  drive(run: StoredRun, events: RunEvents | null): void {
    const { onFault } = this.#options;
    const drive = new Drive(run, run.lease_owner!, { ...this.#options, leaseMs }, events);
    const ended = drive.go().catch((error: unknown) => {
      onFault(error, run.id);
      events?.tell('error', {
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
    if (this.#isClosed) void drive.leave().catch(() => undefined);
  }

  /** Renews the run's lease at once if this process drives it, which detects a cancellation. */
  async look(runId: string): Promise<void> {
    const driven = [...this.#driven].filter((entry) => entry.runId === runId);
    await Promise.allSettled(driven.map(({ drive }) => drive.giveSign()));
  }

  async giveSigns(): Promise<void> {
    const driven = [...this.#driven];
    await Promise.allSettled(driven.map(({ drive }) => drive.giveSign()));
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
    await Promise.allSettled(driven.map(({ drive }) => drive.leave()));
    await Promise.allSettled(driven.map(({ over }) => over));
  }
}
