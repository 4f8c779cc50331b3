/** Defines the `jobs` command, which lists the jobs of a deployment and runs one now. */

import { resolve } from 'node:path';
import { openBlobs } from '../../app/blobs.ts';
import { createCountedRows } from '../../app/counted-rows.ts';
import { createJobs } from '../../app/jobs.ts';
import { createProviderLists } from '../../app/provider-lists.ts';
import type { Keyring } from '../../auth/keyring.ts';
import { createSharedClock, systemClock } from '../../clock.ts';
import { detach } from '../../detached.ts';
import { type Ending, Failure } from '../../failure.ts';
import type { JobOutcome } from '../../jobs/runner/job-run.ts';
import type { JobListing, Scheduler } from '../../jobs/runner/scheduler.ts';
import { createLog } from '../../log.ts';
import { readSettings } from '../../settings.ts';
import { openDatabase } from '../../store/connection/db.ts';
import { readServerTime } from '../../store/connection/server-time.ts';
import { auditTrail } from '../../store/logs/audit-log.ts';
import { databaseRecords } from '../../store/records/database-records.ts';
import { requireMigrated, resolveDatabase } from '../database/database.ts';
import { openKeyring } from '../database/keyring.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { homeOption, optionalWord, outputForm, quoted, requiredChoice } from '../shared/option.ts';
import { formatTable } from '../shared/table.ts';

interface Options {
  action: (typeof actions)[number];
  name: string | undefined;
  output: 'text' | 'json';
  home: string | undefined;
}

const actions = ['list', 'run'] as const;

export const jobs: Command<Options> = {
  examples: [
    ['gatewright jobs list', 'Schedule, next run, and what the last run did'],
    ['gatewright jobs run expire-keys', 'Run a job now and print its counts'],
  ],
  options: {
    action: requiredChoice(actions, 'list or run'),
    name: optionalWord('The job to run'),
    output: outputForm(['text', 'json']),
    home: homeOption,
  },
  run: async (options, io) => {
    assertJobNamed(options);
    const settings = readSettings(undefined, { cwd: io.cwd });
    const home = resolve(io.cwd, options.home ?? settings.home);
    const databaseSettings = await resolveDatabase(settings, home);
    await requireMigrated(databaseSettings);
    const log = createLog({ level: settings.logLevel ?? 'warn', destination: io.stderr });
    await using database = openDatabase(databaseSettings, { log });
    const clock = createSharedClock(systemClock, () => readServerTime(database.db));
    await using blobs = openBlobs({ settings, database, clock });
    let opened: Promise<Keyring> | undefined;
    const keyring = () => {
      opened ??= openKeyring(settings, home, database);
      return opened;
    };
    const unsealerOf = async (organisationId: string) =>
      (await keyring()).unsealerOf(organisationId);
    const records = databaseRecords(database, auditTrail(settings.features.auditLogs));
    await using counted = createCountedRows({ settings, records, clock, log });
    const { noteSecretRead } = counted;
    await using lists = createProviderLists({
      settings,
      database,
      unsealerOf,
      clock,
      log,
      noteSecretRead,
    });
    const scheduler = createJobs({
      settings,
      database,
      blobs,
      lists,
      clock,
      log,
      auditKeyOf: async (organisationId) => (await keyring()).auditKey(organisationId),
    });
    return options.action === 'list'
      ? await listJobs(scheduler, options, io)
      : await runJob(scheduler, options, io);
  },
};

async function listJobs(
  scheduler: Scheduler,
  { output }: Options,
  { stdout }: CommandIo,
): Promise<Ending> {
  const listings = await scheduler.list();
  if (output === 'json') {
    stdout.writeJson({ jobs: listings.map(listingJson) });
    return 'success';
  }
  stdout.write(
    formatTable([
      ['JOB', 'SCHEDULE', 'NEXT RUN', 'LAST RUN', 'STATE', 'TOOK', 'COUNTS'],
      ...listings.map((listing) => [
        listing.name,
        listing.cron,
        listing.nextRunAt === null ? 'never' : isoTime(listing.nextRunAt),
        listing.lastRun === null ? 'never' : isoTime(listing.lastRun.startedAt),
        listing.idleBecause === null ? (listing.lastRun?.state ?? '') : 'idle',
        describeDuration(listing.lastRun?.durationMs ?? null),
        describeResult(listing),
      ]),
    ]),
  );
  return 'success';
}

function assertJobNamed({ action, name }: Options): void {
  if (action === 'run' && name === undefined) {
    const message = 'which job? gatewright jobs run NAME; gatewright jobs list shows their names';
    throw new Failure('invalidInput', message);
  }
  if (action === 'list' && name !== undefined) {
    throw new Failure('invalidInput', `jobs list shows all jobs; leave ${quoted(name)} out`);
  }
}

async function runJob(
  scheduler: Scheduler,
  { name, output }: Options,
  io: CommandIo,
): Promise<Ending> {
  // The run ends at its next safe point; the next run does the rest.
  const stop = (): void => detach('stopping the jobs', scheduler.stop());
  io.signal.addEventListener('abort', stop);
  try {
    const outcome = await scheduler.runNow(name!);
    if (output === 'json') io.stdout.writeJson(outcome);
    else io.stdout.write(describeOutcome(outcome));
    return endingOf[outcome.state];
  } finally {
    io.signal.removeEventListener('abort', stop);
  }
}

const endingOf: Record<JobOutcome['state'], Ending> = {
  done: 'success',
  failed: 'unexpected',
  skipped: 'retryable',
};

function describeOutcome({ name, state, counts, error, durationMs }: JobOutcome): string {
  if (state === 'skipped') return `${name} skipped: another process is running it\n`;
  const took = describeDuration(durationMs);
  const details = [describeCounts(counts), error ?? ''].filter((text) => text !== '').join('; ');
  return `${name} ${state} in ${took}: ${details}\n`;
}

function describeResult({ idleBecause, lastRun }: JobListing): string {
  return idleBecause ?? lastRun?.error ?? describeCounts(lastRun?.counts ?? null);
}

function describeCounts(counts: JobOutcome['counts']): string {
  return Object.entries(counts ?? {})
    .map(([what, count]) => `${what} ${count}`)
    .join(', ');
}

function describeDuration(ms: number | null): string {
  if (ms === null) return '';
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function listingJson({ nextRunAt, lastRun, ...listing }: JobListing): object {
  return {
    ...listing,
    nextRunAt: nextRunAt === null ? null : isoTime(nextRunAt),
    lastRun: lastRun === null ? null : { ...lastRun, startedAt: isoTime(lastRun.startedAt) },
  };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
