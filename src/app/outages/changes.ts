/** Creates the poll of a process for changes, which also adjusts its clock, and measures how long changes take. */
import { Histogram } from 'prom-client';
import { keepMeasuring, type SharedClock } from '../../clock.ts';
import type { Database } from '../../store/connection/db.ts';
import { ChangePoll } from '../../store/snapshot/change-poll.ts';
import { readChanges } from '../../store/snapshot/changes.ts';
import * as snapshotHeads from '../../store/snapshot/snapshot-heads.ts';

export interface Changes {
  readonly poll: ChangePoll;
  /** Belongs to no registry yet. */
  readonly propagation: Histogram;
  /** A change that was made at this shared time is in force. */
  readonly observe: (changedAtMs: number) => void;
}

/** Seconds: gateways with a database take up to one, those of other regions a few, an outage hours. */
const propagationBuckets = [
  0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30, 60, 300, 1_800, 7_200,
];

export function openChanges(parts: {
  readonly database: Pick<Database, 'readable'>;
  readonly clock: SharedClock;
  /** Whether the database that answers reads has the shared time. */
  readonly isSharedTime: boolean;
}): Changes {
  const { database, clock, isSharedTime } = parts;
  const propagation = new Histogram({
    name: 'gatewright_config_propagation_seconds',
    help: 'Time from the commit of a change until it is in force in this process, by the clock of the database',
    buckets: propagationBuckets,
    registers: [],
  });
  const timed = <T extends { readonly now: number }>(read: () => Promise<T>): Promise<T> =>
    isSharedTime ? clock.measureBy(read, ({ now }) => now) : read();
  const poll = new ChangePoll({
    read: (request) => timed(() => readChanges(database.readable, request)),
    readHead: (known) => timed(() => snapshotHeads.readHead(database.readable, known)),
    now: () => clock.now(),
    onChange: (elapsedMs) => propagation.observe(elapsedMs / 1000),
  });
  const observe = (changedAtMs: number): void =>
    propagation.observe(Math.max(0, clock.now() - changedAtMs) / 1000);
  return { poll, propagation, observe };
}

/** Interval between measurements of the database time. */
const measureIntervalMs = 5_000;

/** Measures the shared time from time to time, unless polls for changes do. */
export function keepMeasured(clock: SharedClock): Disposable {
  const measure = () => clock.measureUnlessRecent(measureIntervalMs / 2);
  return keepMeasuring({ measure }, measureIntervalMs);
}
