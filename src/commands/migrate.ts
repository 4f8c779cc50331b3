/** Knows the command that brings a database to this build's schema, or says how far it is. */
import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type Ending, Failure } from '../failure.ts';
import { createLog } from '../log.ts';
import { type DatabaseSettings, readSettings } from '../settings.ts';
import {
  type MigrationStatus,
  migrate as migrateDatabase,
  migrationStatus,
} from '../store/migrations/migrate.ts';
import { assertRunnable } from '../store/migrations/migration-state.ts';
import type { Command, CommandIo } from './shared/command.ts';
import { describeDatabase, resolveDatabase } from './shared/database.ts';
import { duration, flag, homeOption, outputForm } from './shared/option.ts';
import { formatTable } from './shared/table.ts';

interface Options {
  check: boolean;
  status: boolean;
  wait: number | undefined;
  output: 'text' | 'json';
  home: string | undefined;
}

export const migrate: Command<Options> = {
  summary: 'Bring the database to the schema of this version',
  examples: [
    ['gatewright migrate', 'Run what is missing; safe to run anywhere, any number of times'],
    ['gatewright migrate --check', 'Exit 0 when nothing is missing, 2 when something is'],
    ['gatewright migrate --wait 10m', 'In a container that may start before its database does'],
    ['gatewright migrate --status', 'List every migration and what became of it'],
  ],
  options: {
    check: flag('Only say whether migrations are missing (exit 2) or the database is too new (4)'),
    status: flag('Only list the migrations'),
    wait: duration(
      { min: 1, max: 86_400, example: '10m' },
      {
        describe:
          'Wait that long for a database that does not answer, and with --check for its migrations',
        fallback: 'not at all',
      },
    ),
    output: outputForm(['text', 'json']),
    home: homeOption,
  },
  conflicts: [['check', 'status']],
  run: async (options, io) => {
    const settings = readSettings(undefined, { cwd: io.cwd });
    const home = resolve(io.cwd, options.home ?? settings.home);
    const database = await resolveDatabase(settings, home);
    if (options.wait !== undefined) await waitFor(database, options, options.wait, io);
    if (options.check) return check(database, options, io);
    if (options.status) return showStatus(database, options, io);
    const log = createLog({ level: settings.logLevel ?? 'warn', destination: io.stderr });
    const report = await migrateDatabase(database, { log, signal: io.signal });
    if (options.output === 'json') {
      io.stdout.writeJson(report);
      return 'success';
    }
    for (const name of report.applied) io.stdout.write(`applied ${name}\n`);
    if (report.applied.length === 0) io.stdout.write('nothing to do\n');
    io.stdout.write(
      `${describeDatabase(database)} (${report.databaseVersion}) is at ${report.schemaVersion}\n`,
    );
    return 'success';
  },
};

const pollMs = 1_000;

/** Ends when there is no more to wait for, or no more time: what is wrong then, the command itself says. */
async function waitFor(
  database: DatabaseSettings,
  { check: forMigrations }: Options,
  seconds: number,
  { stderr, signal }: CommandIo,
): Promise<void> {
  const until = performance.now() + seconds * 1_000;
  for (let said = ''; performance.now() < until; ) {
    const reason = await reasonToWait(database, forMigrations);
    if (reason === null) return;
    if (reason !== said) stderr.write(`waiting: ${reason}\n`);
    said = reason;
    await setTimeout(pollMs, undefined, { signal });
  }
}

async function reasonToWait(
  database: DatabaseSettings,
  forMigrations: boolean,
): Promise<string | null> {
  try {
    const { migrations } = await migrationStatus(database);
    const isMissing = migrations.some(({ state }) => state === 'pending' || state === 'partial');
    return forMigrations && isMissing ? 'migrations are missing' : null;
  } catch (error) {
    if (error instanceof Failure && error.kind === 'unreachable') return error.message;
    throw error;
  }
}

async function check(
  database: DatabaseSettings,
  { output }: Options,
  { stdout }: CommandIo,
): Promise<Ending> {
  const status = await migrationStatus(database);
  const missing = status.migrations.filter(
    ({ state }) => state === 'pending' || state === 'partial',
  );
  if (output === 'json') stdout.writeJson(statusDocument(status));
  assertRunnable(status);
  if (output === 'text') {
    stdout.write(
      missing.length === 0
        ? `${status.state}: nothing is missing\n`
        : `${status.state}: ${missing.map(({ name }) => name).join(', ')} not applied yet\n`,
    );
  }
  return missing.length === 0 ? 'success' : 'changesPresent';
}

async function showStatus(
  database: DatabaseSettings,
  { output }: Options,
  { stdout }: CommandIo,
): Promise<Ending> {
  const status = await migrationStatus(database);
  if (output === 'json') {
    stdout.writeJson(statusDocument(status));
    return 'success';
  }
  const version = status.databaseVersion ?? 'no such database';
  stdout.write(`${describeDatabase(database)} (${version}) is ${status.state}\n\n`);
  stdout.write(
    formatTable([
      ['MIGRATION', 'STATE', 'STATEMENTS', 'FINISHED'],
      ...status.migrations.map((migration) => [
        migration.name,
        migration.state,
        `${migration.stepsDone}/${migration.stepsTotal}`,
        migration.finishedAt === null ? '' : new Date(migration.finishedAt).toISOString(),
      ]),
    ]),
  );
  return 'success';
}

function statusDocument({ state, databaseVersion, migrations }: MigrationStatus): object {
  return {
    state,
    databaseVersion,
    migrations: migrations.map(({ path, finishedAt, ...migration }) => ({
      ...migration,
      finishedAt: finishedAt === null ? null : new Date(finishedAt).toISOString(),
    })),
  };
}
