/** Defines the `doctor` command, which checks database, schema, master key, clock, tables and stored documents. */
import { resolve } from 'node:path';
import { findMissingMasterKey, readProgress } from '../../auth/data-keys.ts';
import { createMasterKeys } from '../../auth/master-keys.ts';
import { createSharedClock, describeDeviation, systemClock } from '../../clock.ts';
import type { Ending } from '../../failure.ts';
import { createLog } from '../../log.ts';
import { readSettings, type Settings } from '../../settings.ts';
import { type Database, openDatabase } from '../../store/connection/db.ts';
import { readServerTime } from '../../store/connection/server-time.ts';
import { checkConsistency, type Inconsistency } from '../../store/consistency.ts';
import { migrationStatus } from '../../store/migrations/migrate.ts';
import { describeDatabase, requireMigrated, resolveDatabase } from '../database/database.ts';
import type { Command } from '../shared/command.ts';
import { homeOption, outputForm } from '../shared/option.ts';
import { findDocumentFaults } from './document-faults.ts';

interface Options {
  output: 'text' | 'json';
  home: string | undefined;
}

/** Result of one check. */
interface Finding {
  readonly what: string;
  /** The result in words. */
  readonly says: string;
  readonly isWrong: boolean;
}

export const doctor: Command<Options> = {
  examples: [
    ['gatewright doctor', 'Exit 0 when all is well, 3 when something is wrong'],
    [
      'gatewright doctor -o json',
      'The same as one JSON document, each row that is wrong by its id',
    ],
  ],
  options: { output: outputForm(['text', 'json']), home: homeOption },
  run: async (options, io) => {
    const settings = readSettings(undefined, { cwd: io.cwd });
    const home = resolve(io.cwd, options.home ?? settings.home);
    const databaseSettings = await resolveDatabase(settings, home);
    await requireMigrated(databaseSettings);
    const { databaseVersion, state } = await migrationStatus(databaseSettings);
    const log = createLog({ level: settings.logLevel ?? 'error', destination: io.stderr });
    await using database = openDatabase(databaseSettings, { log, queryTimeoutMs: 0 });
    const { rules, found } = await checkConsistency(database);
    const documents = await findDocumentFaults(database.db);
    const place = describeDatabase(databaseSettings);
    const findings: Finding[] = [
      { what: 'database', says: `${place} (${databaseVersion}), schema ${state}`, isWrong: false },
      await masterKeyFinding(await masterKeysOf(settings, home), database),
      await clockFinding(database),
      await modelFinding(settings.inference.guardrailModelFolder),
      {
        what: 'tables',
        says: `${found.length === 0 ? 'nothing' : found.length} found wrong by ${rules} rules`,
        isWrong: found.length > 0,
      },
      {
        what: 'documents',
        says: `${documents.length === 0 ? 'no' : documents.length} unknown fields or names`,
        isWrong: documents.length > 0,
      },
    ];
    const all = [...found, ...documents];
    if (options.output === 'json') io.stdout.writeJson({ findings, inconsistencies: all });
    else io.stdout.write(textOf(findings, all));
    return endingOf(findings);
  },
};

function endingOf(findings: readonly Finding[]): Ending {
  return findings.some(({ isWrong }) => isWrong) ? 'partialFailure' : 'success';
}

/** Master keys of the settings; for the embedded database those of its home. */
async function masterKeysOf(settings: Settings, home: string): Promise<Settings['masterKeys']> {
  if (settings.masterKeys !== null || settings.database !== null) return settings.masterKeys;
  const { readHomeKeys } = await import('../database/home-keys.ts');
  return readHomeKeys(home);
}

async function masterKeyFinding(
  settings: Settings['masterKeys'],
  { db }: Database,
): Promise<Finding> {
  const what = 'master key';
  if (settings === null) {
    return { what, says: 'not checked: GATEWRIGHT_MASTER_KEY is not set here', isWrong: false };
  }
  const masterKeys = createMasterKeys(settings);
  const fault = await findMissingMasterKey(db, masterKeys);
  if (fault !== null) return { what, says: fault.message, isWrong: true };
  const { done, total } = await readProgress(db, masterKeys);
  if (total === 0) return { what, says: 'not in use yet', isWrong: false };
  if (done === total) return { what, says: 'encrypts all keys of this database', isWrong: false };
  const left = `${total - done} of ${total} keys are not under it yet`;
  return { what, says: `${left}: run \`gatewright rotate-master-key\``, isWrong: true };
}

async function clockFinding(database: Database): Promise<Finding> {
  const clock = createSharedClock(systemClock, () => readServerTime(database.db));
  const deviation = describeDeviation(await clock.measure());
  return {
    what: 'clock',
    says: deviation ?? "agrees with the database's",
    isWrong: deviation !== null,
  };
}

/** Reads every file of the model, but does not load it. */
async function modelFinding(folder: string | null): Promise<Finding> {
  const what = 'model';
  if (folder === null) {
    return { what, says: 'none: GATEWRIGHT_GUARDRAIL_MODEL_DIR is not set here', isWrong: false };
  }
  const { readModelManifest, readVerified } = await import(
    '../../guardrails/models/model-bundle.ts'
  );
  try {
    const manifest = readModelManifest(folder);
    for (const name of Object.keys(manifest.files)) await readVerified(folder, manifest, name);
    return { what, says: `${manifest.name} (${manifest.task}), files verified`, isWrong: false };
  } catch (error) {
    return { what, says: (error as Error).message, isWrong: true };
  }
}

function textOf(findings: readonly Finding[], found: readonly Inconsistency[]): string {
  const width = Math.max(...findings.map(({ what }) => what.length));
  const lines = findings.map(
    ({ what, says, isWrong }) => `${isWrong ? 'wrong' : 'ok   '}  ${what.padEnd(width)}  ${says}`,
  );
  const rows = found.map(
    ({ organisationId, table, id, fault }) =>
      `       ${table} ${id} (organisation ${organisationId}) ${fault}`,
  );
  return `${[...lines, ...rows].join('\n')}\n`;
}
