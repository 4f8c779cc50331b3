/** Measures jobs against equivalent bare statements, and how long they block a concurrent writer. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import { expireKeys } from '../src/jobs/expire-keys.ts';
import { resetUsage } from '../src/jobs/reset-usage.ts';
import type { Job } from '../src/jobs/runner/job.ts';
import { createLog } from '../src/log.ts';
import { idToBytes, newId } from '../src/model/wire/ids.ts';
import { Secret } from '../src/secret.ts';
import type { DatabaseSettings } from '../src/settings.ts';
import { type Database, openDatabase } from '../src/store/connection/db.ts';
import { migrate } from '../src/store/migrations/migrate.ts';
import { counterId } from '../src/store/usage/usage-counters.ts';
import { startTestDatabaseServer } from '../test/support/database/database-server.ts';
import { jobContext } from '../test/support/server/job-context.ts';
import type { Member, Row } from './harness.ts';

const now = Date.parse('2026-11-23T00:00:00Z');
const dayMs = 86_400_000;
const organisations = Array.from({ length: 10 }, () => randomUUID());
const batchMax = 500;
const serverFlags = ['--innodb-buffer-pool-size=2G', '--innodb-log-file-size=512M'];

interface Bench {
  readonly database: Database;
  /** Has no statement timeout. */
  readonly patient: Database;
  readonly serverPid: number;
  readonly scale: number;
}

interface Cost {
  /** User and system time of this process and of the database server, milliseconds. */
  readonly cpuMs: number;
  readonly wallMs: number;
}

export const member: Member = {
  name: 'jobs: expiry, window change, counters',
  run: async (scale): Promise<Row[]> => {
    const server = await startTestDatabaseServer(serverFlags);
    const { host, port, user, password } = server.server;
    const settings: DatabaseSettings = {
      host,
      port,
      socketPath: null,
      user,
      name: 'gatewright_test',
      poolSize: 4,
      password: new Secret(password, 'bench'),
      tls: { mode: 'DISABLED', ca: null, cert: null, key: null },
    };
    try {
      await migrate(settings, { log: createLog({ level: 'silent' }) });
      await using database = openDatabase(settings);
      await using patient = openDatabase(settings, { queryTimeoutMs: 0 });
      const bench = { database, patient, serverPid: server.pid, scale };
      return [...(await expiry(bench)), ...(await windowChange(bench)), ...(await inserts(bench))];
    } finally {
      await server.stop();
    }
  },
};

/** Expires a tenth of a million keys, by the job and by a loop that already has their ids. */
async function expiry(bench: Bench): Promise<Row[]> {
  const { database, scale } = bench;
  const total = Math.round(1_000_000 * scale);
  const due = Math.round(total / 10);
  await insertKeys(bench, total);
  const make = async (): Promise<Map<string, string[]>> => {
    await sql`DELETE FROM audit_log`.execute(bench.patient.db);
    return makeDue(bench, due);
  };
  const costs = { job: [] as Cost[], loop: [] as Cost[] };
  const stallsMs: number[] = [];
  const aloneMs: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const ids = await make();
    costs.loop.push(await cost(bench, () => expireByIds(database, ids)));
    await make();
    costs.job.push(await cost(bench, () => run(database, expireKeys({ auditLogs: true }))));
    const watched = await make();
    const stall = await longestWait(database, watched, () =>
      run(database, expireKeys({ auditLogs: true })),
    );
    stallsMs.push(stall);
    const tookMs = costs.job.at(-1)!.wallMs;
    aloneMs.push(await longestWait(database, watched, () => delay(tookMs)));
  }
  return [
    ...ratios(
      `expiry of ${due} of ${total} keys over updates by known id`,
      costs.job,
      costs.loop,
      1.1,
    ),
    // The minimum excludes waits caused by other work on the machine.
    { metric: 'longest wait of a concurrent writer, ms', ratio: Math.min(...stallsMs), aim: 50 },
    {
      metric: 'longest wait of the same writer without the job, ms',
      ratio: Math.min(...aloneMs),
      aim: null,
    },
  ];
}

async function windowChange(bench: Bench): Promise<Row[]> {
  const { database, patient, scale } = bench;
  const count = Math.round(1_000_000 * scale);
  const [organisationId, policyId] = [organisations[0]!, newId()];
  const costs = { job: [] as Cost[], update: [] as Cost[] };
  await sql`INSERT INTO usage_limit_policies (id, organisation_id, conditions, group_by, type,
      credit_limit_units, periodic_reset, window_start, next_reset_at, status, created_at,
      last_updated_at)
    VALUES (${policyId}, ${organisationId}, '[]', '[]', 'cost', 1, 'weekly', ${now - 7 * dayMs},
      ${now}, 'active', 0, 0)`.execute(patient.db);
  await sql`INSERT INTO usage_counters (organisation_id, subject_kind, subject_id, window_start, id,
      value_key, used_units)
    SELECT ${organisationId}, 'policy', ${idToBytes(policyId)}, ${now - 7 * dayMs},
      UNHEX(LEFT(SHA2(n, 256), 32)), n, n + 1 FROM ${numbers(count)}`.execute(patient.db);
  for (let round = 1; round <= 3; round += 1) {
    const job = resetUsage({ auditLogs: true });
    costs.job.push(await cost(bench, () => run(database, job, now + round * 7 * dayMs)));
    // The former implementation of a reset: update every counter of every window.
    costs.update.push(
      await cost(bench, () =>
        sql`UPDATE usage_counters SET used_units = ${round}, last_reset_at = ${round}
          WHERE organisation_id = ${organisationId} AND subject_kind = 'policy'
            AND subject_id = ${idToBytes(policyId)}`.execute(patient.db),
      ),
    );
  }
  return ratios(`window change of ${count} counters over an UPDATE`, costs.job, costs.update, 0.01);
}

/** Compares inserts into our counters with a minimal table that has sequential ids and a unique key. */
async function inserts(bench: Bench): Promise<Row[]> {
  const { patient, scale } = bench;
  const count = Math.round(200_000 * scale);
  const costs = { ours: [] as Cost[], compact: [] as Cost[] };
  for (let round = 0; round < 3; round += 1) {
    const policyId = newId();
    const organisationId = organisations[1]!;
    const values = Array.from({ length: count }, (_, at) => `team-${at}`);
    await sql`DROP TABLE IF EXISTS compact_counters`.execute(patient.db);
    await sql`CREATE TABLE compact_counters (
      id BINARY(16) NOT NULL PRIMARY KEY, organisation_id BINARY(16) NOT NULL,
      subject_kind TINYINT NOT NULL, subject_id BINARY(16) NOT NULL, value_hash BINARY(16) NOT NULL,
      value_key VARCHAR(512) NOT NULL, used_units BIGINT NOT NULL, reserved_units BIGINT NOT NULL,
      UNIQUE KEY compact_counters_value (organisation_id, subject_kind, subject_id, value_hash)
    ) ENGINE=InnoDB`.execute(patient.db);
    const hashes = values.map((value) => idToBytes(counterId(policyId, value)));
    const ids = values.map(() => idToBytes(newId()));
    const subject = idToBytes(policyId);
    const organisation = idToBytes(organisationId);
    costs.compact.push(
      await cost(bench, () =>
        insertAll(
          patient,
          sql`compact_counters (id, organisation_id, subject_kind, subject_id, value_hash,
            value_key, used_units, reserved_units)`,
          count,
          (at) =>
            sql`(${ids[at]}, ${organisation}, 3, ${subject}, ${hashes[at]}, ${values[at]}, 1, 0)`,
        ),
      ),
    );
    costs.ours.push(
      await cost(bench, () =>
        insertAll(
          patient,
          sql`usage_counters (organisation_id, subject_kind, subject_id, window_start, id,
            value_key, used_units, reserved_units)`,
          count,
          (at) =>
            sql`(${organisationId}, 'policy', ${subject}, ${now}, ${hashes[at]}, ${values[at]}, 1, 0)`,
        ),
      ),
    );
  }
  return ratios(`insert of ${count} counters over a minimal table`, costs.ours, costs.compact, 1.3);
}

function run(database: Database, job: Job, at = now): Promise<unknown> {
  return job.run(jobContext(database, at));
}

/** The lower bound of the job: updates and audit rows for known ids, without concurrency checks. */
async function expireByIds(database: Database, due: ReadonlyMap<string, string[]>): Promise<void> {
  for (const [organisationId, ids] of due) {
    for (let at = 0; at < ids.length; at += batchMax) {
      const some = sql.join(ids.slice(at, at + batchMax));
      const keys = sql`organisation_id = ${organisationId} AND id IN (${some})`;
      await database.transaction(async (tx) => {
        await sql`UPDATE api_keys SET status = 'expired', last_updated_at = ${now}
          WHERE ${keys}`.execute(tx);
        await sql`INSERT INTO audit_log (organisation_id, at, id, workspace_id, actor_kind, actor_id,
            action, resource_kind, resource_id, request_id, changes)
          SELECT organisation_id, ${now}, UNHEX(REPLACE(id, '-', '')), workspace_id, 'job',
            'expire-keys', 'expire', 'ApiKey', id, '',
            CONCAT('{"status":"expired","expires_at":', expires_at, '}')
          FROM api_keys WHERE ${keys}`.execute(tx);
      });
    }
  }
}

async function insertKeys({ patient }: Bench, count: number): Promise<void> {
  const each = Math.round(count / organisations.length);
  for (const organisationId of organisations) {
    await sql`INSERT INTO api_keys (organisation_id, id, type, name, key_mask, status, creation_mode,
        scopes, expires_at, created_by, created_at, last_updated_at)
      SELECT ${organisationId}, UUID(), 'workspace-service', CONCAT('key ', n), 'ab*****xyz',
        'active', 'api', '["completions.write","logs.view"]', ${now + 365 * dayMs} + n, 'bench', 0, 0
      FROM ${numbers(each)}`.execute(patient.db);
  }
}

/** Makes `count` keys due, spread evenly over the table. Returns their ids by organisation. */
async function makeDue({ patient }: Bench, count: number): Promise<Map<string, string[]>> {
  const each = Math.round(count / organisations.length);
  const due = new Map<string, string[]>();
  for (const organisationId of organisations) {
    const { rows } = await sql<{ id: string }>`
      SELECT id FROM api_keys WHERE organisation_id = ${organisationId}
      ORDER BY SHA1(id) LIMIT ${each}`.execute(patient.db);
    const ids = rows.map((row) => row.id);
    await sql`UPDATE api_keys SET status = 'active', expires_at = ${now - 1} - RAND() * ${dayMs}
      WHERE organisation_id = ${organisationId} AND id IN (${sql.join(ids)})`.execute(patient.db);
    due.set(organisationId, ids);
  }
  return due;
}

/** Updates random keys until `work` ends. Returns the longest time that one update took, in ms. */
async function longestWait(
  database: Database,
  keys: ReadonlyMap<string, string[]>,
  work: () => Promise<unknown>,
): Promise<number> {
  const ended = new AbortController();
  const working = work().finally(() => ended.abort());
  const [organisationId, ids] = [...keys][0]!;
  let longest = 0;
  while (!ended.signal.aborted) {
    const id = ids[Math.floor(Math.random() * ids.length)]!;
    const began = performance.now();
    await sql`UPDATE api_keys SET description = ${randomUUID()}
      WHERE organisation_id = ${organisationId} AND id = ${id}`.execute(database.db);
    longest = Math.max(longest, performance.now() - began);
  }
  await working;
  return longest;
}

async function insertAll(
  { db }: Database,
  into: RawBuilder<unknown>,
  count: number,
  row: (at: number) => RawBuilder<unknown>,
): Promise<void> {
  for (let start = 0; start < count; start += batchMax) {
    const length = Math.min(batchMax, count - start);
    const rows = Array.from({ length }, (_, at) => row(start + at));
    await sql`INSERT INTO ${into} VALUES ${sql.join(rows)}`.execute(db);
  }
}

/** Rows with `n` from 0 to `count` - 1. */
function numbers(count: number): RawBuilder<unknown> {
  const digits = (name: string, from: number) => {
    const more = Array.from({ length: 9 }, (_, at) => sql`UNION ALL SELECT ${sql.lit(at + 1)}`);
    const ten = sql`(SELECT 0 AS d ${sql.join(more, sql` `)}) AS ${sql.ref(name)}`;
    return { ten, value: sql`${sql.ref(`${name}.d`)} * ${sql.lit(10 ** from)}` };
  };
  const places = ['a', 'b', 'c', 'e', 'f', 'g'].map(digits);
  const n = sql.join(
    places.map((place) => place.value),
    sql` + `,
  );
  const from = sql.join(places.map((place) => place.ten));
  return sql`(SELECT ${n} AS n FROM ${from} HAVING n < ${sql.lit(count)}) AS numbers`;
}

async function cost({ serverPid }: Bench, work: () => Promise<unknown>): Promise<Cost> {
  const [own, server, began] = [process.cpuUsage(), cpuMsOf(serverPid), performance.now()];
  await work();
  const wallMs = performance.now() - began;
  const { user, system } = process.cpuUsage(own);
  return { wallMs, cpuMs: (user + system) / 1000 + cpuMsOf(serverPid) - server };
}

/** Fields 14 and 15 of /proc/PID/stat, in hundredths of a second. */
function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]!.split(' ').map(Number);
  return (fields[11]! + fields[12]!) * 10;
}

/** CPU decides. The cheapest round counts, because other work on the machine only adds time. */
function ratios(metric: string, top: readonly Cost[], bottom: readonly Cost[], aim: number): Row[] {
  const least = (costs: readonly Cost[], of: keyof Cost): number =>
    Math.min(...costs.map((one) => one[of]));
  const ratio = (of: keyof Cost): number => least(top, of) / least(bottom, of);
  return [
    { metric: `${metric}, CPU`, ratio: ratio('cpuMs'), aim },
    { metric: `${metric}, wall clock`, ratio: ratio('wallMs'), aim: null },
  ];
}
