/** Defines the `migrate` command, which migrates a database to this build's schema or shows its state. */
import { resolve } from 'node:path';
import type { Ending } from '../../failure.ts';
import { createLog } from '../../log.ts';
import { type DatabaseSettings, readSettings } from '../../settings.ts';
import {
  type MigrationStatus,
  migrate as migrateDatabase,
  migrationStatus,
} from '../../store/migrations/migrate.ts';
import { assertRunnable } from '../../store/migrations/migration-state.ts';
import { describeDatabase, resolveDatabase } from '../database/database.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { durationOption, homeOption, outputForm, switchOption } from '../shared/option.ts';
import { formatTable } from '../shared/table.ts';
import { reasonUnavailable, waitWhile } from '../shared/wait.ts';

interface Options {
  check: boolean;
  status: boolean;
  wait: number | undefined;
  output: 'text' | 'json';
  home: string | undefined;
}

export const migrateCommand: Command<Options> = {
  examples: [
    ['gatewright migrate', 'Run what is missing; safe to run anywhere, any number of times'],
    [
      'gatewright migrate --check',
      'Exit 0 when the schema is current, 2 when migrations are missing',
    ],
    ['gatewright migrate --wait 10m', 'In a container that may start before its database does'],
    ['gatewright migrate --status', 'List every migration and what became of it'],
  ],
  options: {
    check: switchOption(
      'Only check whether migrations are missing (exit 2) or the database is too new (exit 4)',
    ),
    status: switchOption('Only list the migrations'),
    wait: durationOption(
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
    const { wait: seconds, check: forMigrations } = options;
    if (seconds !== undefined) {
      const say = (reason: string) => io.stderr.write(`waiting: ${reason}\n`);
      const reason = () => reasonToWait(database, forMigrations);
      await waitWhile(reason, { seconds: () => seconds, signal: io.signal, say });
    }
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

async function reasonToWait(
  database: DatabaseSettings,
  forMigrations: boolean,
): Promise<string | null> {
  let isMissing = false;
  const reason = await reasonUnavailable(async () => {
    const { migrations } = await migrationStatus(database);
    isMissing = migrations.some(({ state }) => state === 'pending' || state === 'partial');
  });
  return reason ?? (forMigrations && isMissing ? 'migrations are missing' : null);
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
