/** Knows which runs this process drives, and takes over those whose drivers give no sign of life. */
import { newId } from '../../model/wire/ids.ts';
import type { Lease, StoredRun } from '../../store/objects/runs.ts';
import * as runs from '../../store/objects/runs.ts';
import { Drive, type DriveOptions } from './drive.ts';
import type { RunEvents } from './run-events.ts';

export interface RunDriversOptions extends Omit<DriveOptions, 'leaseMs'> {
  /** What nobody waits for and failed. */
  readonly onFault: (error: unknown, runId: string) => void;
}

/** After this without a sign of life a driver is taken for dead. */
const leaseMs = 30_000;
/** Within this it is noticed that a run was cancelled elsewhere. */
const signEveryMs = 2_000;
const lookEveryMs = 5_000;
/** At one look. */
const takenOverMax = 20;

interface Driven {
  readonly runId: string;
  readonly drive: Drive;
  readonly over: Promise<void>;
}

export class RunDrivers implements AsyncDisposable {
  readonly #options: RunDriversOptions;
  readonly #driven = new Set<Driven>();
  #timers: readonly NodeJS.Timeout[] = [];
  #isClosed = false;

  constructor(options: RunDriversOptions) {
    this.#options = options;
  }

  /** From now on by itself; `requireConnection` throws until the database has been proved to be the right one. */
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

  /** To be written with the run, before it is driven. */
  newLease(): Lease {
    return { owner: newId(), until: this.#options.now() + leaseMs };
  }

  /** Goes on by itself; `run` is leased to this process. */
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
    const driven: Driven = {
      runId: run.id,
      drive,
      over: ended.finally(() => this.#driven.delete(driven)),
    };
    this.#driven.add(driven);
    if (this.#isClosed) void drive.leave().catch(() => undefined);
  }

  /** Looks at once whether this run is to go on, where this process drives it. */
  async look(runId: string): Promise<void> {
    const driven = [...this.#driven].filter((one) => one.runId === runId);
    await Promise.allSettled(driven.map(({ drive }) => drive.giveSign()));
  }

  async giveSigns(): Promise<void> {
    const driven = [...this.#driven];
    await Promise.allSettled(driven.map(({ drive }) => drive.giveSign()));
  }

  /** Those whose drivers are gone; yields how many. */
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

  /** Leaves all runs to others. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#timers) clearInterval(timer);
    const driven = [...this.#driven];
    await Promise.allSettled(driven.map(({ drive }) => drive.leave()));
    await Promise.allSettled(driven.map(({ over }) => over));
  }
}
