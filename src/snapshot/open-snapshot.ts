/** Runs the sealed snapshot in a process: builds it where that is wanted, and keeps the newest one for gateways. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { MasterKeys } from '../auth/master-keys.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { SnapshotSettings } from '../settings/groups/snapshot.ts';
import type { Db } from '../store/connection/db.ts';
import { isUnavailable } from '../store/connection/unavailable.ts';
import type { SnapshotSource } from '../store/reads/snapshot-view.ts';
import type { BucketFolder } from './bucket/bucket-files.ts';
import { SnapshotBuilder } from './building/snapshot-builder.ts';
import type { SnapshotRefused } from './format/snapshot-refused.ts';
import { heldOrigin } from './reading/held-origin.ts';
import { FolderCopy } from './reading/snapshot-copy.ts';
import { databaseOrigin, type SnapshotOrigin } from './reading/snapshot-origin.ts';
import { SnapshotReader } from './reading/snapshot-reader.ts';
import { RepeatedWork } from './repeated-work.ts';
import { SnapshotBucket } from './snapshot-bucket.ts';

/** Stage of a failure, for metrics. */
export type SnapshotFault = 'refused' | 'unsaved' | 'pull' | 'build' | 'bucket';

interface SnapshotFigures {
  readonly organisations: number;
  readonly keys: number;
  /** Seconds since the snapshot was known to be the newest one; null without a snapshot. */
  readonly ageSeconds: number | null;
  readonly isBuilder: boolean;
  readonly faults: Readonly<Record<SnapshotFault, number>>;
}

export interface RunningSnapshot extends AsyncDisposable {
  readonly source: SnapshotSource;
  /** Serves the snapshot that this process holds to others. */
  readonly heldOrigin: SnapshotOrigin;
  figures(): SnapshotFigures;
  /** Loads the copy in the folder, before the database is reached. Never rejects. */
  load(): Promise<void>;
  /** Asks the origin once. @throws what the origin throws, and SnapshotRefused */
  pull(): Promise<unknown>;
  /** Takes over the snapshot in the bucket where it is newer, now and as long as the database is away. Never rejects. */
  loadFromBucket(): Promise<void>;
  /** Begins to build and to pull. */
  start(): void;
}

export interface SnapshotParts {
  readonly settings: { readonly snapshot: SnapshotSettings };
  readonly database: { readonly db: Db; readonly readable: Db };
  readonly masterKeys: MasterKeys;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether this process may build. */
  readonly builds: boolean;
  /** Where the snapshot comes from; by default the database. */
  readonly origin?: SnapshotOrigin;
  /** Whether a snapshot is kept even without a folder. */
  readonly isNeeded?: boolean;
  /** Where the snapshot is saved too; null for no bucket. */
  readonly bucket: BucketFolder | null;
  /** Receives the time of each change that a pull takes over, except the first one of the process. */
  readonly onChangeInForce?: ((changedAtMs: number) => void) | null;
}

const leaseMs = 15_000;
const graceMs = 600_000;
const touchMs = 30_000;
const maintainMs = 5_000;
/** Intervals while nothing changes, and after a change, which others often follow. */
const idleMs = { pull: 1_000, build: 1_150, waiting: 3_000 };
const activeMs = 200;
const activeForMs = 5_000;

/** Null when no snapshot is kept. */
export function openSnapshot(parts: SnapshotParts): RunningSnapshot | null {
  const { directory, maxAgeSeconds } = parts.settings.snapshot;
  if (directory === null && parts.isNeeded !== true) return null;
  const { masterKeys, clock, log, origin = databaseOrigin(parts.database.readable) } = parts;
  const faults = { refused: 0, unsaved: 0, pull: 0, build: 0, bucket: 0 };
  const report = (fault: SnapshotFault, error: unknown, message: string): void => {
    faults[fault] += 1;
    // An outage is reported by the connection.
    log[isUnavailable(error) ? 'debug' : 'error']({ err: error }, message);
  };
  const onRefused = (refused: SnapshotRefused): void =>
    report('refused', refused, 'a snapshot is refused');
  const copy = directory === null ? null : new FolderCopy(directory);
  let hasPulled = false;
  const reader = new SnapshotReader({
    masterKeys,
    origin,
    copy,
    maxAgeMs: maxAgeSeconds === null ? null : maxAgeSeconds * 1000,
    clock,
    onRefused,
    onUnsaved: (error) => report('unsaved', error, 'the snapshot could not be saved'),
    onChangeInForce: (changedAtMs) => {
      if (hasPulled) parts.onChangeInForce?.(changedAtMs);
    },
  });
  const pull = async (): Promise<boolean> => {
    const isChanged = await reader.pull();
    hasPulled = true;
    bucket?.notePulled();
    return isChanged;
  };
  const pulling = pullLoop({ pull, reader, origin }, (error) =>
    report('pull', error, 'the snapshot could not be pulled'),
  );
  const builder = parts.builds ? createBuilder(parts, onRefused) : null;
  const building =
    builder &&
    buildLoop(builder, (error) => report('build', error, 'the snapshot could not be built'));
  const buildRight = () => builder?.right ?? null;
  const onFailure = report.bind(null, 'bucket');
  const bucket =
    parts.bucket && new SnapshotBucket({ folder: parts.bucket, reader, buildRight, onFailure });
  return {
    source: reader,
    heldOrigin: heldOrigin(reader),
    figures: () => figuresOf(reader, builder, faults, clock.now()),
    load: () =>
      loadSaved(reader, (error) =>
        report('refused', error, 'the saved snapshot could not be read'),
      ),
    pull,
    loadFromBucket: async () => {
      await bucket?.step();
      bucket?.start();
    },
    start: () => {
      pulling.start();
      building?.start();
      bucket?.notePulled();
      bucket?.start();
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([pulling.stop(), building?.stop(), bucket?.stop()]);
      await builder?.release().catch(() => undefined);
      copy?.[Symbol.dispose]();
      await parts.bucket?.[Symbol.asyncDispose]();
    },
  };
}

async function loadSaved(reader: SnapshotReader, onFailure: (error: unknown) => void) {
  await reader.load().catch(onFailure);
}

function figuresOf(
  reader: SnapshotReader,
  builder: SnapshotBuilder | null,
  faults: SnapshotFigures['faults'],
  now: number,
): SnapshotFigures {
  const confirmedAtMs = reader.confirmedAtMs();
  return {
    ...(reader.figures() ?? { organisations: 0, keys: 0 }),
    ageSeconds: confirmedAtMs && Math.max(0, now - confirmedAtMs) / 1000,
    isBuilder: builder?.isHolder ?? false,
    faults,
  };
}

function createBuilder(
  { database: { db }, masterKeys }: Pick<SnapshotParts, 'database' | 'masterKeys'>,
  onRefused: (refused: SnapshotRefused) => void,
): SnapshotBuilder {
  const holder = `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`;
  return new SnapshotBuilder({ db, masterKeys, holder, leaseMs, graceMs, touchMs, onRefused });
}

interface PullParts {
  /** Returns whether anything has changed. */
  readonly pull: () => Promise<boolean>;
  readonly reader: Pick<SnapshotReader, 'isCurrent'>;
  readonly origin: Pick<SnapshotOrigin, 'isWaiting'>;
}

function pullLoop(
  { pull, reader, origin }: PullParts,
  onFailure: (error: unknown) => void,
): RepeatedWork {
  const recent = recently();
  return new RepeatedWork(async () => {
    try {
      if (await pull()) recent.note();
      if (!reader.isCurrent()) return activeMs;
      if (origin.isWaiting?.()) return 0;
      return recent.isActive() ? activeMs : idleMs.pull;
    } catch (error) {
      onFailure(error);
      return idleMs.pull;
    }
  });
}

function buildLoop(builder: SnapshotBuilder, onFailure: (error: unknown) => void): RepeatedWork {
  const recent = recently();
  let maintainedAtMs = performance.now();
  return new RepeatedWork(async () => {
    try {
      if (performance.now() - maintainedAtMs > maintainMs) {
        await builder.maintain();
        maintainedAtMs = performance.now();
      }
      const { state, hasMore } = await builder.step();
      if (state === 'waiting') return idleMs.waiting;
      if (state === 'built') recent.note();
      if (hasMore) return 0;
      return recent.isActive() ? activeMs : idleMs.build;
    } catch (error) {
      onFailure(error);
      return idleMs.build;
    }
  });
}

/** Whether something happened within the last seconds. */
function recently() {
  let notedAtMs = Number.NEGATIVE_INFINITY;
  return {
    note: () => {
      notedAtMs = performance.now();
    },
    isActive: () => performance.now() - notedAtMs < activeForMs,
  };
}
