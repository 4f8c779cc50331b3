/** Compares the schema of a database with that of this build: missing, unknown, edited or too new migrations. */
import { Failure } from '../../failure.ts';
import { checksumOfFirst, type Migration } from './migration-files.ts';
import type { AppliedMigration } from './schema-migrations.ts';

/**
 * - `empty`: no migration is applied.
 * - `behind`: migrations are missing.
 * - `current`: exactly the migrations of this build are applied.
 * - `ahead`: newer migrations are applied too, and this build can run on them.
 * - `too-new`: a newer migration is applied that this build cannot run on.
 * - `edited`: the text of an applied migration differs from the file of this build.
 */
export type SchemaState = 'empty' | 'behind' | 'current' | 'ahead' | 'too-new' | 'edited';

interface MigrationState {
  readonly name: string;
  /** `partial`: some statements ran. `unknown`: applied by a newer build and compatible with this one. */
  readonly state: 'applied' | 'partial' | 'pending' | 'edited' | 'unknown' | 'unknown-breaking';
  readonly stepsDone: number;
  readonly stepsTotal: number;
  /** Milliseconds since the epoch; null unless finished. */
  readonly finishedAt: number | null;
  /** File of this build; null for a migration of a newer build. */
  readonly path: string | null;
}

export interface SchemaStatus {
  readonly state: SchemaState;
  /** Sorted by name. */
  readonly migrations: readonly MigrationState[];
}

export function compareSchema(
  migrations: readonly Migration[],
  applied: readonly AppliedMigration[],
): SchemaStatus {
  const rows = new Map(applied.map((row) => [row.name, row]));
  const known = new Set(migrations.map((migration) => migration.name));
  const states = [
    ...migrations.map((migration) => stateOfKnown(migration, rows.get(migration.name))),
    ...applied.filter((row) => !known.has(row.name)).map(stateOfUnknown),
  ].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { state: overall(states, applied.length), migrations: states };
}

function stateOfKnown(migration: Migration, row: AppliedMigration | undefined): MigrationState {
  const isFinished = row !== undefined && row.finishedAt !== null;
  const common = {
    name: migration.name,
    // Files of finished migrations are not parsed just to count their statements.
    stepsTotal: isFinished ? row.stepsTotal : migration.statements.length,
    stepsDone: row?.stepsDone ?? 0,
    finishedAt: row?.finishedAt ?? null,
    path: migration.path,
  };
  if (row === undefined) return { ...common, state: 'pending' };
  // A migration that failed halfway may be edited after the statements that have run.
  const isEdited =
    row.finishedAt === null
      ? row.doneChecksum !== checksumOfFirst(migration, row.stepsDone)
      : row.checksum !== migration.checksum;
  if (isEdited) return { ...common, state: 'edited' };
  return { ...common, state: row.finishedAt === null ? 'partial' : 'applied' };
}

function stateOfUnknown(row: AppliedMigration): MigrationState {
  return {
    name: row.name,
    state: row.breaking ? 'unknown-breaking' : 'unknown',
    stepsDone: row.stepsDone,
    stepsTotal: row.stepsTotal,
    finishedAt: row.finishedAt,
    path: null,
  };
}

function overall(states: readonly MigrationState[], appliedCount: number): SchemaState {
  const has = (...sought: MigrationState['state'][]): boolean =>
    states.some(({ state }) => sought.includes(state));
  if (has('unknown-breaking')) return 'too-new';
  if (has('edited')) return 'edited';
  if (appliedCount === 0) return 'empty';
  if (has('pending', 'partial')) return 'behind';
  return has('unknown') ? 'ahead' : 'current';
}

/** @throws Failure when this build must not touch the database, or its files cannot be applied in order */
export function assertRunnable(status: SchemaStatus): void {
  for (const migration of status.migrations) {
    if (migration.state === 'unknown-breaking') {
      throw new Failure(
        'refusedByGuard',
        `The database is newer than this build: it has migration ${migration.name}, which this ` +
          'build cannot run on. Start the newer version of gatewright, or restore a backup ' +
          'from before the upgrade.',
      );
    }
    if (migration.state === 'edited') {
      throw new Failure(
        'refusedByGuard',
        `${migration.path}: this migration was edited after ` +
          `${migration.finishedAt === null ? `its first ${migration.stepsDone} statements` : 'it'} ` +
          'ran. Restore the file and put the change into a new migration.',
      );
    }
  }
  assertOrder(status.migrations);
}

/**
 * @param name of the database
 * @throws Failure when this build cannot work on a database of that state
 */
export function assertUsableSchema(status: SchemaStatus, name: string): void {
  assertRunnable(status);
  if (status.state === 'current' || status.state === 'ahead') return;
  throw new Failure(
    'refusedByGuard',
    `The database ${name} has ${status.state === 'empty' ? 'no tables yet' : 'an older schema'}. ` +
      'Run `gatewright migrate` first.',
  );
}

/** Rejects a pending file that sorts before an applied one: that order was never tested. */
function assertOrder(migrations: readonly MigrationState[]): void {
  const last = migrations.findLastIndex((migration) => migration.state === 'applied');
  const late = migrations.find((migration, at) => migration.state === 'pending' && at < last);
  if (late === undefined) return;
  throw new Failure(
    'refusedByGuard',
    `${late.path}: this migration sorts before ${migrations[last]!.name}, which is applied ` +
      'already. Give it the next free number.',
  );
}
