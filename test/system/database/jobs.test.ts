/** Tests that a job survives the death of its process, and the output of the jobs and bootstrap commands. */
import type { ChildProcess } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JobOutcome } from '../../../src/jobs/runner/job-run.ts';
import type { DatabaseSettings } from '../../../src/settings.ts';
import {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
} from '../../support/database/database.ts';
import { apiKeyRow, insertApiKeys } from '../../support/rows/api-key-row.ts';
import { spawnTestProcess } from '../../support/server/test-process.ts';
import { runCli } from '../commands/run-cli.ts';

const now = Date.parse('2026-01-01T12:00:00Z');
const masterKey = { GATEWRIGHT_MASTER_KEY: randomBytes(32).toString('base64') };
const children: ChildProcess[] = [];
let test: TestDatabase;
let directory: string;

beforeEach(async () => {
  test = await createTestDatabase();
  directory = mkdtempSync(join(tmpdir(), 'gatewright-jobs-'));
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(directory, { recursive: true });
  await test[Symbol.asyncDispose]();
});

function startReplica(settings: DatabaseSettings, nowMs: number): ChildProcess {
  const options = {
    settings,
    password: settings.password?.reveal(),
    features: { usageLimits: true, auditLogs: true },
    name: 'expire-keys',
    nowMs,
    leaseMs: 600_000,
    owner: randomUUID(),
  };
  const program = join(import.meta.dirname, 'jobs-replica.ts');
  const child = spawnTestProcess([program, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  return child;
}

async function outcomeOf(replica: ChildProcess): Promise<JobOutcome> {
  return JSON.parse(await text(replica.stdout!)) as JobOutcome;
}

const audited = async (): Promise<number> => {
  const { n } = await test.database.db
    .selectFrom('audit_log')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .executeTakeFirstOrThrow();
  return Number(n);
};

describe('expire-keys in two processes', () => {
  it('expires 10,000 keys exactly once between them', async () => {
    await insertDueKeys(10_000);
    const outcomes = await Promise.all(
      [now, now + 1].map((nowMs) => outcomeOf(startReplica(test.settings, nowMs))),
    );
    const expired = outcomes.reduce((sum, { counts }) => sum + (counts?.expired ?? 0), 0);
    expect(expired).toBe(10_000);
    await expectEachOnce(10_000);
  });

  it('takes over a run killed by SIGKILL, and expires every key exactly once', async () => {
    await insertDueKeys(20_000);
    const victim = startReplica(test.settings, now);
    const exited = once(victim, 'exit');
    await expect.poll(audited, { interval: 1 }).toBeGreaterThan(0);
    victim.kill('SIGKILL');
    await exited;
    expect(await audited()).toBeLessThan(20_000);
    const runs = () => test.database.db.selectFrom('job_runs').selectAll().execute();
    expect(await runs()).toMatchObject([{ bucket: now, state: 'running', attempt: 1 }]);
    // Simulates elapsed time: the killed process's lease expires.
    await test.database.db.updateTable('job_runs').set({ lease_until: 0 }).execute();
    const successor = startReplica(test.settings, now + 60_000);
    expect(await outcomeOf(successor)).toMatchObject({ state: 'done', attempt: 2 });
    expect(await runs()).toMatchObject([{ bucket: now, state: 'done', attempt: 2 }]);
    await expectEachOnce(20_000);
  });
});

describe('gatewright jobs', () => {
  it('lists every job with its schedule, next run and last run', async () => {
    const before = await runCli(['jobs', 'list'], test.settings);
    expect(before).toMatchObject({ exitCode: 0, stderr: '' });
    expect(before.stdout).toMatch(/^JOB +SCHEDULE +NEXT RUN +LAST RUN +STATE/);
    expect(before.stdout).toMatch(/expire-keys +\* \* \* \* \* +\d{4}-.* +never/);
    await insertDueKeys(3);
    const run = await runCli(['jobs', 'run', 'expire-keys'], test.settings);
    expect(run).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^expire-keys done in \d+ ms: expired 3\n$/),
    });
    const after = await runCli(['jobs', 'list', '-o', 'json'], test.settings);
    const [listed] = JSON.parse(after.stdout).jobs;
    expect(listed).toMatchObject({
      name: 'expire-keys',
      idleBecause: null,
      lastRun: { state: 'done', counts: { expired: 3 }, attempt: 1 },
    });
    expect(Date.parse(listed.nextRunAt) % 60_000).toBe(0);
  });

  it('shows a job whose feature is off as idle, and refuses to run it', async () => {
    const env = { USAGE_LIMITS_ENABLED: 'OFF' };
    const list = await runCli(['jobs', 'list'], test.settings, { env });
    expect(list.stdout).toMatch(/reset-usage .* never .* idle .*USAGE_LIMITS_ENABLED is OFF/);
    const run = await runCli(['jobs', 'run', 'reset-usage'], test.settings, { env });
    expect(run).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('is idle because') });
  });

  it('lists the jobs for an unknown name, and explains how to list them when none is given', async () => {
    const wrong = await runCli(['jobs', 'run', 'expire'], test.settings);
    expect(wrong).toMatchObject({ exitCode: 5, stderr: expect.stringContaining('reset-usage') });
    const none = await runCli(['jobs', 'run'], test.settings);
    expect(none).toMatchObject({ exitCode: 5, stderr: expect.stringContaining('jobs list') });
  });

  it('asks to migrate first on a database without tables', async () => {
    await using empty = await createEmptyDatabase();
    const result = await runCli(['jobs', 'list'], empty.settings);
    expect(result).toMatchObject({
      exitCode: 4,
      stderr: expect.stringContaining('gatewright migrate'),
    });
  });
});

describe('gatewright bootstrap', () => {
  const inDirectory = (...words: string[]) =>
    runCli(['bootstrap', ...words], test.settings, { env: masterKey, cwd: directory });

  it('writes valid credentials, readable by the owner only, and prints no secret', async () => {
    const result = await inDirectory('--url', 'https://gw.example.com/');
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    const path = join(directory, 'credentials.json');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const credentials = JSON.parse(readFileSync(path, 'utf8'));
    expect(credentials).toEqual({
      baseUrl: 'https://gw.example.com/v1',
      adminBaseUrl: 'https://gw.example.com',
      authUrl: 'https://gw.example.com',
      iamUrl: 'https://gw.example.com',
      tsgId: expect.stringMatching(/^\d{10}$/),
      clientId: expect.stringContaining('gatewright@'),
      clientSecret: expect.any(String),
      organisationApiKey: expect.any(String),
    });
    expect(result.stdout).toContain(credentials.clientId);
    expect(result.stdout).not.toContain(credentials.clientSecret);
    expect(result.stdout).not.toContain(credentials.organisationApiKey);
  });

  it('prints the credentials on request, and leaves no file', async () => {
    const result = await inDirectory('--file', '-', '--tsg-id', '1234567890', '--name', 'ci');
    const inferenceUrl = 'http://127.0.0.1:8787/v1';
    expect(JSON.parse(result.stdout)).toMatchObject({ tsgId: '1234567890', inferenceUrl });
    expect(() => statSync(join(directory, 'credentials.json'))).toThrow(/ENOENT/);
  });

  it('refuses to write into a Git working copy by default, and prints the command that does', async () => {
    mkdirSync(join(directory, '.git'));
    const refused = await inDirectory('--tsg-id', '1234567890');
    expect(refused).toMatchObject({
      exitCode: 4,
      stderr: expect.stringMatching(/easily committed[\s\S]*--file FILE/),
    });
    expect(() => statSync(join(directory, 'credentials.json'))).toThrow(/ENOENT/);
    const [, meant] =
      /Write them here anyway: +\S*gatewright bootstrap (.*)/.exec(refused.stderr) ?? [];
    expect(meant).toBe('--tsg-id 1234567890 --file ./credentials.json');
    expect(await inDirectory(...meant!.split(' '))).toMatchObject({ exitCode: 0 });
  });

  it('takes the tenant of a local home for its own only if this database has it', async () => {
    const home = join(directory, 'home');
    mkdirSync(home, { mode: 0o700 });
    await inDirectory('--file', 'first.json', '--tsg-id', '1234567890');
    const path = join(home, 'credentials.json');
    const own = readFileSync(join(directory, 'first.json'), 'utf8');
    const elsewhere = own
      .replaceAll('1234567890', '5555555555')
      .replaceAll('127.0.0.1', '10.9.9.9');
    writeFileSync(path, elsewhere, { mode: 0o600 });
    const made = await inDirectory('--home', home, '--file', '-', '--name', 'ci');
    expect(made).toMatchObject({ exitCode: 0, stderr: '' });
    expect(made.stdout).not.toMatch(/5555555555|10\.9\.9\.9/);
    writeFileSync(path, own, { mode: 0o600 });
    const refused = await inDirectory('--home', home, '--file', '-', '--name', 'ci');
    expect(refused).toMatchObject({ exitCode: 4, stdout: '' });
    const [, words] = /same tenant: +\S*gatewright bootstrap (.*)/.exec(refused.stderr) ?? [];
    const another = await inDirectory(...words!.split(' '));
    expect(JSON.parse(another.stdout)).toMatchObject({ tsgId: '1234567890' });
    const tenants = await test.database.db.selectFrom('organisations').select('tsg_id').execute();
    expect(tenants).toHaveLength(2);
  });

  it('never overwrites a file, and creates no account without delivering its credentials', async () => {
    writeFileSync(join(directory, 'credentials.json'), 'precious');
    const result = await inDirectory();
    expect(result).toMatchObject({
      exitCode: 5,
      stderr: expect.stringContaining('exists already'),
    });
    expect(readFileSync(join(directory, 'credentials.json'), 'utf8')).toBe('precious');
    const accounts = await test.database.db.selectFrom('service_accounts').selectAll().execute();
    expect(accounts).toEqual([]);
  });

  it('leaves no empty file behind when the name is taken', async () => {
    await inDirectory('--tsg-id', '1234567890', '--file', 'first.json');
    const again = await inDirectory('--tsg-id', '1234567890', '--file', 'second.json');
    expect(again).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('another name') });
    expect(() => statSync(join(directory, 'second.json'))).toThrow(/ENOENT/);
  });

  it('derives the same credentials every time, and overwrites nothing else', async () => {
    const derived = (...words: string[]) => inDirectory('--derived', '--name', 'sync', ...words);
    const first = await derived('--file', 'first.json');
    expect(first).toMatchObject({ exitCode: 0, stderr: '' });
    const again = await derived('--file', 'first.json', '--url', 'https://gw.example.com');
    expect(again).toMatchObject({ exitCode: 0, stdout: first.stdout });
    const path = join(directory, 'first.json');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const credentials = JSON.parse(readFileSync(path, 'utf8'));
    expect(Object.keys(credentials)).not.toContain('organisationApiKey');
    expect(credentials.adminBaseUrl).toBe('https://gw.example.com');
    expect(first.stdout).not.toContain(credentials.clientSecret);
    writeFileSync(path, 'precious');
    expect(await derived('--file', 'first.json')).toMatchObject({
      exitCode: 5,
      stderr: expect.stringContaining('other content'),
    });
    expect(readFileSync(path, 'utf8')).toBe('precious');
  });

  it('rejects a master key other than that of the database', async () => {
    await inDirectory('--file', 'first.json');
    const env = { GATEWRIGHT_MASTER_KEY: randomBytes(32).toString('base64') };
    const result = await runCli(['bootstrap', '--file', '-'], test.settings, { env });
    expect(result).toMatchObject({
      exitCode: 4,
      stderr: expect.stringContaining('GATEWRIGHT_MASTER_KEY'),
    });
  });
});

async function expectEachOnce(count: number): Promise<void> {
  const { db } = test.database;
  const rows = await db
    .selectFrom('audit_log')
    .select((eb) => [
      eb.fn.countAll<number>().as('rows'),
      eb.fn.count<number>('resource_id').distinct().as('keys'),
    ])
    .executeTakeFirstOrThrow();
  expect({ rows: Number(rows.rows), keys: Number(rows.keys) }).toEqual({
    rows: count,
    keys: count,
  });
  const alive = await db
    .selectFrom('api_keys')
    .select('id')
    .where('status', '!=', 'expired')
    .execute();
  expect(alive).toEqual([]);
}

async function insertDueKeys(count: number): Promise<void> {
  const organisationId = randomUUID();
  const due = { organisation_id: organisationId, expires_at: now - 1000 };
  const keys = Array.from({ length: count }, () => apiKeyRow(due));
  await insertApiKeys(test.database.db, keys);
}
