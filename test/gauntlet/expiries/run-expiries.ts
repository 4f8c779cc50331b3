/** Lets keys expire while the processes that expire them are killed and stopped, and counts each expiry. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../../src/store/connection/db.ts';
import { databaseVariables } from '../../support/database/database-variables.ts';
import { apiKeyRow, insertApiKeys } from '../../support/rows/api-key-row.ts';
import { buildProgram } from '../../support/run/built-program.ts';
import { SeededRandom } from '../../support/run/seeded-random.ts';
import { openGauntletDatabase } from '../scene/database.ts';
import type { Place } from '../scene/place.ts';
import { PlaceMaker } from '../scene/place-maker.ts';
import { requireCommand, runCommand } from '../scene/run-command.ts';
import { until } from '../until.ts';
import { RunnerFaults } from './runner-faults.ts';

export interface ExpiriesOptions {
  readonly keys: number;
  /** Processes with jobs. */
  readonly runners: number;
  /** Time over which the expiries are spread. */
  readonly minutes: number;
  /** Kills and stops of the process whose run expires keys at that time. */
  readonly ownerFaults: number;
  readonly seed: number;
}

export interface ExpiriesResult {
  readonly figures: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
}

const minuteMs = 60_000;
/** From the insert of the keys to the first expiry. */
const leadMs = 20_000;
/** A run of an owner that died is taken over after its lease of a minute, at the next full minute. */
const settleMsMax = 20 * minuteMs;
const sealMsMax = 3 * minuteMs;
/** Keys that expire long after the run. */
const lastingKeys = 1_000;

export async function runExpiries(
  options: ExpiriesOptions,
  tell: (line: string) => void,
): Promise<ExpiriesResult> {
  await using stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-expiries-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'logs'));
  const { path: program } = stack.use(await buildProgram());
  const server = stack.use(await openGauntletDatabase('mariadb'));
  const variables = {
    ...databaseVariables(server.settings),
    GATEWRIGHT_MASTER_KEY: randomBytes(32).toString('base64'),
  };
  await requireCommand([program, 'migrate'], variables);
  const words = [program, 'bootstrap', '--name', 'expiries', '--file', '-'];
  await requireCommand(words, variables);
  const maker = new PlaceMaker({
    folder,
    program,
    database: server.settings,
    variables: { GATEWRIGHT_MASTER_KEY: variables.GATEWRIGHT_MASTER_KEY },
    hosts: [],
    mail: {},
    logFolder: join(folder, 'logs'),
  });
  const runners: Place[] = [];
  for (let at = 0; at < options.runners; at += 1) {
    runners.push(stack.use(await maker.addControl(`runner-${at}`)));
  }
  await Promise.all(runners.map((place) => place.start()));
  const database = stack.use(openDatabase(server.settings));
  const random = new SeededRandom(options.seed);
  const beganMs = Date.now();
  tell(`inserting ${options.keys} keys that expire within ${options.minutes} minutes`);
  const expiring = await insertKeys(database, options, random);
  tell(`${options.runners} processes expire them`);
  const { ownerFaults } = options;
  const faults = new RunnerFaults({ database, runners, random, ownerFaults, tell });
  const isExpired = async () => (await countActive(database)) === 0;
  await faults.during(() => until(isExpired, options.minutes * minuteMs + settleMsMax));
  const secondsTaken = Math.round((Date.now() - beganMs) / 1_000);
  tell('checking every expiry');
  const seal = () => runCommand([program, 'jobs', 'run', 'seal-audit-log'], variables);
  // A killed process may own its run until the lease ends.
  const isSealed = await until(async () => (await seal()).exitCode === 0, sealMsMax);
  const violations = [
    ...(await expiryFaults(database, expiring)),
    ...runners.flatMap(({ crashes }) => crashes),
    ...(isSealed ? [] : ['the audit log could not be sealed']),
    ...(await auditFaults(program, variables)),
  ];
  return {
    figures: { keys: options.keys, runners: options.runners, secondsTaken, ...faults.counts },
    violations,
  };
}

/** Returns the ids of the keys that expire. */
async function insertKeys(
  { db }: Database,
  { keys, minutes }: ExpiriesOptions,
  random: SeededRandom,
): Promise<ReadonlySet<string>> {
  const { id: organisationId } = await db
    .selectFrom('organisations')
    .select('id')
    .executeTakeFirstOrThrow();
  const key = (expiresAt: number) =>
    apiKeyRow({ organisation_id: organisationId, expires_at: expiresAt });
  const fromMs = Date.now() + leadMs;
  const expiring = Array.from({ length: keys }, () =>
    key(fromMs + random.below(minutes * minuteMs)),
  );
  const lasting = Array.from({ length: lastingKeys }, () => key(fromMs + 1_000 * minuteMs));
  await insertApiKeys(db, [...expiring, ...lasting]);
  return new Set(expiring.map(({ id }) => id));
}

/** Keys that are not marked as expired yet, beside those that expire after the run. */
async function countActive({ db }: Database): Promise<number> {
  const { rows } = await sql<{ active: unknown }>`
    SELECT COUNT(*) AS active FROM api_keys
    WHERE status = 'active' AND expires_at < ${Date.now() + 500 * minuteMs}`.execute(db);
  return Number(rows[0]!.active);
}

/** Compares the audit log with the keys: one row for each that expired, and none for any other. */
async function expiryFaults({ db }: Database, expiring: ReadonlySet<string>): Promise<string[]> {
  const rows = await db
    .selectFrom('audit_log')
    .select('resource_id')
    .where('action', '=', 'expire')
    .execute();
  const counts = new Map<string, number>();
  for (const { resource_id } of rows) {
    counts.set(String(resource_id), (counts.get(String(resource_id)) ?? 0) + 1);
  }
  const wrong = [...expiring].filter((id) => counts.get(id) !== 1);
  const foreign = [...counts.keys()].filter((id) => !expiring.has(id));
  const marked = await db
    .selectFrom('api_keys')
    .select('id')
    .where('status', '=', 'expired')
    .execute();
  const markedIds = new Set(marked.map(({ id }) => String(id)));
  const unmarked = [...expiring].filter((id) => !markedIds.has(id));
  return [
    ...wrong.map((id) => `key ${id} expired ${counts.get(id) ?? 0} times by the audit log`),
    ...foreign.map((id) => `key ${id} expired before its time`),
    ...unmarked.map((id) => `key ${id} is not marked as expired`),
  ];
}

async function auditFaults(
  program: string,
  variables: Readonly<Record<string, string>>,
): Promise<string[]> {
  const { exitCode, stderr } = await runCommand([program, 'audit', 'verify'], variables);
  return exitCode === 0 ? [] : [`audit verify exited with ${exitCode}: ${stderr}`];
}
