/** Tests `gatewright up`: from a folder to a running control plane, restarts, and refusals. */

import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { afterAll, afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { exitCodes } from '../../../src/commands/shared/exit-codes.ts';
import { findRunningDatabase } from '../../../src/embedded/embedded-database.ts';
import type { DatabaseSettings } from '../../../src/settings.ts';
import { createEmptyDatabase } from '../../support/database/database.ts';
import { findFreePort, softwareDirectory } from '../../support/database/database-server.ts';
import { databaseVariables } from '../../support/database/database-variables.ts';
import { mountSmallDisk, unmountSmallDisk } from '../../support/database/small-disk.ts';
import { eventually } from '../../support/server/eventually.ts';
import { createTestHome, lendSoftware, type TestHome } from '../../support/server/home.ts';
import { isRunning } from '../../support/server/process.ts';
import { runCli, sourceProgram } from '../commands/run-cli.ts';
import { runUp, startUp } from './up-runner.ts';
import { example, exampleSize, fillUsedHome, firstStart } from './used-home.ts';

const disk = mountSmallDisk(450);
afterAll(() => disk !== null && unmountSmallDisk(disk));

let home: TestHome;
let source: string;

beforeEach(() => {
  home = createTestHome();
  source = join(home.path, 'gateway');
  cpSync(example, source, { recursive: true });
});
afterEach(() => home[Symbol.dispose]());

interface Credentials {
  baseUrl: string;
  adminBaseUrl: string;
  authUrl: string;
  iamUrl: string;
  tsgId: string;
  clientId: string;
  clientSecret: string;
  organisationApiKey: string;
}

function readCredentials(at = home.path): Credentials {
  return JSON.parse(readFileSync(join(at, 'credentials.json'), 'utf8')) as Credentials;
}

/** Prepares a home in which `up` has run before. */
async function useHomeOfBefore(): Promise<void> {
  await fillUsedHome(home.path);
}

/** Names of the workspaces that a running `up` serves, read with the credentials it wrote. */
async function workspaceNames(): Promise<string[]> {
  const { authUrl, adminBaseUrl, clientId, clientSecret, tsgId } = readCredentials();
  const answer = await fetch(`${authUrl}/oauth2/access_token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: `tsg_id:${tsgId}` }),
  });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  const list = await fetch(`${adminBaseUrl}/v2/workspaces`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { data } = (await list.json()) as { data: { name: string }[] };
  return data.map(({ name }) => name).sort();
}

function databasePid(): number {
  const lines = readFileSync(join(home.path, 'run/sql.sock.pid'), 'utf8');
  return Number(lines.trim());
}

/** Fills the disk completely, whatever else is written meanwhile. */
function fillDisk(path: string): void {
  const file = openSync(path, 'w');
  const block = Buffer.alloc(1024 * 1024);
  try {
    expect(() => {
      for (;;) writeSync(file, block);
    }).toThrow('ENOSPC');
  } finally {
    closeSync(file);
  }
}

function manyWorkspaces(count: number): string[] {
  return Array.from(
    { length: count },
    (_, at) => `---
apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: w${at}}
spec: {name: W${at}}
`,
  );
}

/** Runs a printed line in a shell that finds the program as if installed. */
function runInShell(line: string, cwd: string) {
  const programs = join(home.path, 'programs');
  mkdirSync(programs, { recursive: true });
  const link = join(programs, 'gatewright');
  if (!existsSync(link)) symlinkSync(inject('builtProgram'), link);
  const env = { PATH: `${programs}:${dirname(process.execPath)}:/usr/bin:/bin` };
  return spawnSync('/bin/sh', ['-c', line], { cwd, env, encoding: 'utf8' });
}

/** Simulates elapsed time: the lease of a killed `up` in the home's database expires. */
async function endLeases(): Promise<void> {
  const { socketPath, user, password, name } = (await findRunningDatabase(home.path))!;
  const to = { socketPath, user, password: password.reveal(), database: name };
  const connection = await createConnection(to);
  await connection.query('UPDATE sync_leases SET expires_at = 0');
  await connection.end();
}

/** Runs one sync and returns its JSON document; does not wait for a dead process's lease. */
async function upOnce() {
  await using run = startUp(home.path, ['--once', '-o', 'json', '--source', source]);
  const waits = run.saw(/waiting: The lease/).then(
    () => true,
    () => false,
  );
  // If the lease has expired meanwhile, the database is not running any more.
  if (await waits) await endLeases().catch(() => undefined);
  const exitCode = await run.exited;
  return { exitCode, stderr: run.stderr(), document: JSON.parse(run.stdout() || 'null') };
}

describe('the first start', () => {
  it('creates everything in the folder, reports it as one JSON document, writes the credentials, prints no secret and leaves no process', async () => {
    const { path, exitCode, stdout, stderr } = await firstStart();
    const document = JSON.parse(stdout || 'null');
    expect(exitCode, stderr).toBe(exitCodes.success);
    expect(document).toMatchObject({
      exitCode: 0,
      database: { embedded: true, migrationsRun: expect.arrayContaining(['0001_tenancy']) },
      credentialsFile: join(path, 'credentials.json'),
    });
    expect(document.sync.counts).toContainEqual(
      expect.objectContaining({ kind: 'Workspace', created: 2, undone: 0 }),
    );
    const { adminUrl, inferenceUrl } = document.addresses;
    expect(readCredentials(path)).toEqual({
      inferenceUrl: `${inferenceUrl}/v1`,
      baseUrl: `${adminUrl}/v1`,
      adminBaseUrl: adminUrl,
      authUrl: adminUrl,
      iamUrl: adminUrl,
      tsgId: expect.stringMatching(/^\d{10}$/),
      clientId: expect.any(String),
      clientSecret: expect.any(String),
      organisationApiKey: expect.any(String),
    });
    for (const name of ['credentials.json', 'master.key']) {
      expect(statSync(join(path, name)).mode & 0o777, name).toBe(0o600);
    }
    const { clientSecret, organisationApiKey } = readCredentials(path);
    const masterKey = readFileSync(join(path, 'master.key'), 'utf8').trim();
    const printed = stderr + stdout;
    for (const secret of [clientSecret, organisationApiKey, masterKey]) {
      expect(printed).not.toContain(secret);
    }
    expect(existsSync(join(path, 'database.json'))).toBe(false);
    expect(existsSync(join(path, 'run'))).toBe(false);
  });

  it('shows each step, what was created, where things are, and what to do next', async () => {
    await using run = startUp(home.path, ['--once', '--source', source], {}, sourceProgram);
    expect(await run.exited, run.stderr()).toBe(exitCodes.success);
    expect(run.stderr()).toMatch(/initialising[\s\S]*starting M[\s\S]*migrating[\s\S]*serving/);
    expect(run.stdout()).toMatch(/Workspace +2/);
    expect(run.stdout()).toMatch(/database +M\w+ \d+\.\d+\.\d+, embedded/);
    expect(run.stdout()).toMatch(/migrations +[1-9]\d* run/);
    expect(run.stdout()).toContain(join(home.path, 'credentials.json'));
    const next = run.stdout().split('try next')[1]!.trim().split('\n');
    expect(next).toHaveLength(4);
    expect(next[2]).toContain(' get McpServer');
  });
});

describe('the quickstart', () => {
  it('prints commands that complete a chat and call a tool when they are pasted into a shell', async () => {
    await using run = startUp(home.path, ['--source', example], {}, sourceProgram);
    await run.saw(/Ctrl-C stops everything/);
    const lines = run.stdout().split('try next')[1]!.split('\n');
    const answerOf = (path: string) => {
      const line = lines.find((one) => one.includes('curl') && one.includes(path))!;
      const { stdout, stderr } = spawnSync('/bin/sh', ['-c', line], {
        cwd: run.cwd,
        encoding: 'utf8',
      });
      return stdout || stderr;
    };
    expect(answerOf('/v1/chat/completions')).toContain('hello');
    expect(answerOf('/mock-tools/mcp')).toContain('"structuredContent":{"sum":5}');
  });
});

describe('the next start', () => {
  beforeEach(useHomeOfBefore);

  it('reuses the same data and the same credentials', async () => {
    const before = readCredentials();
    const { exitCode, document } = await upOnce();
    expect(exitCode).toBe(exitCodes.success);
    expect(document.database.migrationsRun).toEqual([]);
    expect(document.sync).toMatchObject({ counts: [], summary: { create: 0, noop: exampleSize } });
    const { tsgId, clientId, clientSecret, organisationApiKey } = before;
    expect(readCredentials()).toMatchObject({ tsgId, clientId, clientSecret, organisationApiKey });
  });

  it('loses nothing after kill -9 of everything', async () => {
    writeFileSync(join(source, 'more.yaml'), manyWorkspaces(1).join(''));
    await using run = startUp(home.path, ['--source', source]);
    await run.saw(/Ctrl-C stops everything/);
    const pid = databasePid();
    run.child.kill('SIGKILL');
    process.kill(pid, 'SIGKILL');
    await run.exited;
    await eventually(() => expect(isRunning(pid)).toBe(false));
    const { exitCode, document, stderr } = await upOnce();
    expect(exitCode, stderr).toBe(exitCodes.success);
    expect(document.sync).toMatchObject({
      counts: [],
      summary: { create: 0, noop: exampleSize + 1 },
    });
  });

  it('completes an apply that was killed', async () => {
    writeFileSync(join(source, 'many.yaml'), manyWorkspaces(150).join(''));
    await using run = startUp(home.path, ['--source', source]);
    await run.saw(/ syncing /);
    await eventually(async () => expect((await workspaceNames()).length).toBeGreaterThan(2));
    run.child.kill('SIGKILL');
    await run.exited;
    const { exitCode, document, stderr } = await upOnce();
    expect(exitCode, stderr).toBe(exitCodes.success);
    expect(document.sync.summary.create + document.sync.summary.noop).toBe(exampleSize + 150);
    expect((await upOnce()).document.sync.summary).toMatchObject({
      create: 0,
      noop: exampleSize + 150,
    });
  });

  it('moves damaged state aside, reports it, and creates new credentials of the same tenant', async () => {
    const before = readCredentials();
    const names = ['credentials.json', 'database.json', 'database/gatewright-server.json'];
    for (const name of names) writeFileSync(join(home.path, name), '{"half');
    const { exitCode, document, stderr } = await upOnce();
    expect(exitCode, stderr).toBe(exitCodes.success);
    for (const name of names) {
      const path = join(home.path, name);
      expect(stderr).toContain(`${path} was damaged: set aside as ${path}.damaged`);
      expect(readFileSync(`${path}.damaged`, 'utf8')).toBe('{"half');
    }
    expect(document.sync.summary).toMatchObject({ create: 0, noop: exampleSize });
    writeFileSync(join(source, 'more.yaml'), manyWorkspaces(1).join(''));
    expect((await upOnce()).document.sync.summary).toMatchObject({ create: 1, noop: exampleSize });
    expect(readCredentials().tsgId).toBe(before.tsgId);
    expect(readCredentials().clientId).not.toBe(before.clientId);
  });

  it('creates new credentials of the same tenant when the file was lost', async () => {
    const before = readCredentials();
    home.remove('credentials.json');
    expect((await upOnce()).document.sync.summary).toMatchObject({ create: 0, noop: exampleSize });
    expect(readCredentials().tsgId).toBe(before.tsgId);
    home.remove('credentials.json');
    writeFileSync(join(home.path, 'tsg-id'), '12');
    const { exitCode, stderr } = await upOnce();
    expect(exitCode).toBe(exitCodes.invalidInput);
    expect(stderr).toMatch(/tsg-id does not contain the 10 digits[\s\S]*Restore them/);
  });
});

describe('a running deployment', () => {
  beforeEach(useHomeOfBefore);

  it('applies an edit and prints the diff; a broken file changes nothing and is reported with its position, also by status; the master key can be rotated meanwhile', async () => {
    await using run = startUp(home.path, ['--source', source]);
    await run.saw(/Ctrl-C stops everything/);
    const owner = async () => {
      const { stdout } = await runCli(['status', '-o', 'json', '--home', home.path], null);
      return JSON.parse(stdout).owners[0];
    };
    const poll = () => expect.poll(owner);
    await poll().toMatchObject({ state: 'Synced', silent: false, report: { source } });
    const keyBefore = readFileSync(join(home.path, 'master.key'), 'utf8');
    const rotated = await runCli(['rotate-master-key', '--home', home.path], null);
    expect(rotated).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^all \d+ keys/) });
    expect(readFileSync(join(home.path, 'master.key'), 'utf8')).not.toBe(keyBefore);
    const { exitCode, stdout } = await runCli(['doctor', '--home', home.path], null);
    expect([exitCode, stdout]).toEqual([
      exitCodes.success,
      expect.stringMatching(/ok +master key +encrypts all keys of this database\n/),
    ]);
    expect(await workspaceNames()).toContain('Research');
    const path = join(source, 'workspaces.yaml');
    const good = readFileSync(path, 'utf8');
    writeFileSync(path, good.replace('name: Research', 'name: Explorers'));
    await run.saw(/~ update Workspace\/research.*\n +~ spec\.name: "Research" → "Explorers"/);
    expect(await workspaceNames()).toContain('Explorers');
    writeFileSync(path, `${good}\n  wrong: [`);
    await run.saw(/workspaces\.yaml:\d+:\d+ [\s\S]*what was applied last stays/);
    expect(await workspaceNames()).toContain('Explorers');
    const error = { file: expect.stringMatching(/workspaces\.yaml$/), line: expect.any(Number) };
    await poll().toMatchObject({ state: 'Degraded', report: { error } });
    writeFileSync(path, good);
    await run.saw(/"Explorers" → "Research"/);
  });

  it('has one tenant: a concurrent bootstrap creates another account of it, or explains a second tenant', async () => {
    using place = createTestHome();
    const at = join(place.path, 'my home');
    lendSoftware(at);
    await using run = startUp(at, ['--source', source]);
    await run.saw(/Ctrl-C stops everything/);
    const { tsgId, adminBaseUrl } = JSON.parse(
      readFileSync(join(at, 'credentials.json'), 'utf8'),
    ) as Credentials;
    const bootstrap = (line: string) => runInShell(line, place.path);
    const refused = bootstrap("gatewright bootstrap --home 'my home' --file -");
    expect(refused).toMatchObject({ status: 4, stdout: '' });
    expect(refused.stderr).toContain(`is ${tsgId}; this would create a second one`);
    const [, account] = /same tenant: +(.*)/.exec(refused.stderr) ?? [];
    const made = bootstrap(account!);
    expect(made.stderr).toBe('');
    expect(JSON.parse(made.stdout)).toMatchObject({ tsgId, adminBaseUrl });
    const second = bootstrap(`${account!.replace(tsgId, '1234567890')} -o json`);
    expect(JSON.parse(second.stdout)).toMatchObject({ tsgId: '1234567890' });
    expect(second.stderr).toContain('second one');
  });

  it('refuses a large prune with the command that releases it', async () => {
    const many = manyWorkspaces(30);
    writeFileSync(join(source, 'many.yaml'), many.join(''));
    await using run = startUp(home.path, ['--source', source]);
    await run.saw(/Workspace +30/);
    writeFileSync(join(source, 'many.yaml'), many[0]!);
    await run.saw(/29 API keys and workspaces left[\s\S]*--allow-deletes 29/);
    expect(await workspaceNames()).toContain('W29');
    const [, release] = /To delete now: (.*)/.exec(run.stdout()) ?? [];
    expect(runInShell(`${release} --yes`, run.cwd)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('29 deleted'),
    });
    expect(await workspaceNames()).not.toContain('W29');
  });

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'rejects a second process in its home and names the first, and ends on %s with nothing left behind',
    async (signal) => {
      await using run = startUp(home.path, ['--source', source]);
      await run.saw(/Ctrl-C stops everything/);
      await using second = startUp(home.path, ['--source', source]);
      expect(await second.exited).toBe(exitCodes.retryable);
      const { adminBaseUrl } = readCredentials();
      expect(second.stderr()).toContain(`process ${run.child.pid} (${adminBaseUrl})`);
      expect(await workspaceNames()).toContain('Research');
      const pid = databasePid();
      run.child.kill(signal);
      expect(await run.exited).toBe(exitCodes.success);
      expect(isRunning(pid)).toBe(false);
      const left = readdirSync(home.path).filter((name) =>
        /^run|sock|running|database\.json/.test(name),
      );
      expect(left).toEqual([]);
    },
  );

  it('ends by itself with the reason when its database is killed', async () => {
    await using run = startUp(home.path, ['--source', source]);
    await run.saw(/Ctrl-C stops everything/);
    process.kill(databasePid(), 'SIGKILL');
    expect(await run.exited).toBe(exitCodes.unexpected);
    expect(run.stderr()).toMatch(/embedded database ended unexpectedly \(SIGKILL\)/);
  });

  it.skipIf(disk === null)(
    'ends with the reason on a full disk, and continues once there is room',
    async () => {
      const at = join(disk!, 'home');
      const filler = join(disk!, 'filler');
      lendSoftware(at);
      {
        await using run = startUp(at, ['--source', source]);
        await run.saw(/Ctrl-C stops everything/);
        fillDisk(filler);
        process.kill(Number(readFileSync(join(at, 'run/sql.sock.pid'), 'utf8')), 'SIGABRT');
        expect(await run.exited).toBe(exitCodes.unexpected);
        expect(run.stderr()).toMatch(
          /SIGABRT[\s\S]*The disk of .* has 0 MiB left: make room, then start/,
        );
      }
      rmSync(filler);
      await using again = startUp(at, ['--once', '--source', source]);
      expect(await again.exited, again.stderr()).toBe(exitCodes.success);
    },
  );
});

describe('rejected input', () => {
  it('includes a source that does not exist, before anything is started', async () => {
    const bare = join(home.path, 'bare');
    await using run = startUp(bare, ['--source', join(home.path, 'nowhere')]);
    expect(await run.exited).toBe(exitCodes.invalidInput);
    expect(run.stderr()).toContain(join(home.path, 'nowhere'));
    expect(existsSync(bare)).toBe(false);
  });

  it('includes a port in use, by its number and with the remedy', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    await using run = startUp(home.path, ['--source', source, '--port', String(port)]);
    expect(await run.exited).toBe(exitCodes.invalidInput);
    expect(run.stderr()).toMatch(new RegExp(`127\\.0\\.0\\.1:${port}: another program.*--port 0`));
    expect(existsSync(join(home.path, 'database'))).toBe(false);
    const env = { GATEWRIGHT_METRICS_PORT: String(port) };
    const words = ['--source', source, '--port', String(await findFreePort())];
    await using second = startUp(home.path, words, env);
    expect(await second.exited).toBe(exitCodes.invalidInput);
    expect(second.stderr()).toMatch(new RegExp(`:${port}: another.*GATEWRIGHT_METRICS_PORT`));
    expect(existsSync(join(home.path, 'database'))).toBe(false);
    taken.close();
  });

  it.each([
    ['gateway/workspaces.yaml', 'is not a folder'],
    ['gateway/workspaces.yaml/home', 'is not a folder'],
    ['/dev/null', 'is not a folder'],
    ['/proc/home', 'the system makes no folder there'],
    ['/sys/home', 'this user may not write there'],
  ])('includes %s as a home, with any source', async (name, reason) => {
    const path = resolve(home.path, name);
    for (const location of [source, 'https://127.0.0.1:1/team.git']) {
      await using run = startUp(path, ['--source', location]);
      expect(await run.exited).toBe(exitCodes.invalidInput);
      expect(run.stderr()).toContain(`${path} cannot be the home: `);
      expect(run.stderr()).toContain(reason);
      expect(run.stderr()).toContain('GATEWRIGHT_HOME');
    }
  });

  it('includes a home that this user may not write', async () => {
    const path = join(home.path, 'read-only');
    mkdirSync(path, { mode: 0o555 });
    // Root may write everywhere unless it lacks the capability.
    const bound = ['setpriv', '--inh-caps=-all', '--bounding-set=-dac_override,-dac_read_search'];
    const words = ['--home', path, '--source', source];
    await using run = runUp(words, { as: process.getuid?.() === 0 ? bound : [] });
    expect(await run.exited).toBe(exitCodes.invalidInput);
    expect(run.stderr()).toMatch(/read-only cannot be the home: this user may not write there/);
  });

  it('includes a limit of open files that is too low for a database', async () => {
    const words = ['--home', home.path, '--port', '0', '--source', source];
    await using run = runUp(words, { before: 'ulimit -n 64' });
    expect(await run.exited).toBe(exitCodes.invalidInput);
    expect(run.stderr()).toMatch(/may open 64 files at a time;.* 256 or more.*ulimit -n/s);
    expect(existsSync(join(home.path, 'lock'))).toBe(false);
  });

  it('includes another master key, before the database is migrated', async () => {
    await using database = await createEmptyDatabase();
    const connection = await createConnection(connectionOf(database.settings));
    await connection.query(
      'CREATE TABLE data_keys (organisation_id CHAR(36), master_key_id CHAR(16), wrapped_key TEXT)',
    );
    await connection.query("INSERT INTO data_keys VALUES ('', '0123456789abcdef', '')");
    await using run = startUp(home.path, ['--once', '--source', source], {
      ...databaseVariables(database.settings),
      GATEWRIGHT_MASTER_KEY: randomBytes(32).toString('base64'),
    });
    expect(await run.exited).toBe(exitCodes.refusedByGuard);
    expect(run.stderr()).toMatch(/data keys of this database are encrypted/);
    expect((await connection.query('SHOW TABLES'))[0]).toHaveLength(1);
    await connection.end();
  });

  it('includes a file with faults next to valid ones, each with its position; exit code 3 with --once', async () => {
    await useHomeOfBefore();
    writeFileSync(join(source, 'bad.yaml'), 'apiVersion: gatewright.dev/v1\nkind: Workspce\n');
    const { exitCode, document, stderr } = await upOnce();
    expect(exitCode, stderr).toBe(exitCodes.partialFailure);
    expect(JSON.stringify(document.sync.faults)).toMatch(/bad\.yaml.*Workspce/);
  });

  it('includes a master key other than that of the database', async () => {
    await useHomeOfBefore();
    const other = randomBytes(32).toString('base64');
    await using run = startUp(home.path, ['--once', '--source', source], {
      GATEWRIGHT_MASTER_KEY: other,
    });
    expect(await run.exited).toBe(exitCodes.refusedByGuard);
    expect(run.stderr()).toMatch(/data keys of this database are encrypted/);
  });
});

it.each([
  ['master.key', /master\.key contains 0 bytes; a master key has 32 or more/],
  ['lock', /cannot be the home: .*lock cannot be opened/],
])('reports a folder in place of %s, and creates nothing', async (name, message) => {
  mkdirSync(join(home.path, name));
  const before = readdirSync(home.path);
  await using run = startUp(home.path, ['--once', '--source', source]);
  expect(await run.exited).toBe(exitCodes.invalidInput);
  expect(run.stderr()).toMatch(message);
  expect(readdirSync(home.path).filter((file) => file !== 'lock')).toEqual(
    before.filter((file) => file !== 'lock'),
  );
});

describe('a lost master key', () => {
  it('is never replaced next to data that it encrypted; with the file restored everything continues', async () => {
    await useHomeOfBefore();
    const path = join(home.path, 'master.key');
    const key = readFileSync(path);
    home.remove('master.key');
    const before = readdirSync(home.path, { recursive: true }).sort();
    await using refused = startUp(home.path, ['--once', '--source', source]);
    expect(await refused.exited).toBe(exitCodes.refusedByGuard);
    expect(refused.stderr()).toContain(`${path} is missing`);
    expect(refused.stderr()).toContain(`from a backup of the home to ${path}`);
    expect(refused.stderr()).not.toMatch(/starting MariaDB|migrating/);
    expect(readdirSync(home.path, { recursive: true }).sort()).toEqual(before);
    writeFileSync(path, key);
    const { exitCode, stderr } = await upOnce();
    expect(exitCode, stderr).toBe(exitCodes.success);
  });

  it('is required when the database is another one, and not created before that has answered', async () => {
    await using database = await createEmptyDatabase();
    const start = (env: Record<string, string>) =>
      startUp(home.path, ['--once', '--source', source], {
        ...databaseVariables(database.settings),
        ...env,
      });
    const path = join(home.path, 'master.key');
    await using absent = start({ DB_NAME: 'nowhere', DB_USER: 'nobody' });
    expect(await absent.exited).not.toBe(exitCodes.success);
    expect(existsSync(path)).toBe(false);
    await using first = start({});
    expect(await first.exited, first.stderr()).toBe(exitCodes.success);
    home.remove('master.key');
    await using refused = start({});
    expect(await refused.exited).toBe(exitCodes.refusedByGuard);
    expect(refused.stderr()).toContain(`${path} is missing`);
    expect(existsSync(path)).toBe(false);
  });
});

describe('a second start in the same folder', () => {
  it('runs a separate deployment with another port, which that port finds again', async () => {
    const [firstPort, secondPort] = [await findFreePort(), await findFreePort()];
    const homes = [`.gatewright`, `.gatewright-${secondPort}`];
    if (existsSync(softwareDirectory)) {
      for (const name of homes) lendSoftware(join(home.path, name));
    }
    await fillUsedHome(join(home.path, homes[0]!));
    const words = ['--offline', '--source', source, '--port'];
    const at = { cwd: home.path };
    await using run = runUp([...words, String(firstPort)], at);
    await run.saw(/Ctrl-C stops everything/);
    for (const created of [2, undefined]) {
      await using second = runUp([...words, String(secondPort), '--once', '-o', 'json'], at);
      expect(await second.exited, second.stderr()).toBe(exitCodes.success);
      const document = JSON.parse(second.stdout());
      expect(document.home).toBe(join(home.path, homes[1]!));
      expect(document.addresses.adminUrl).toContain(`:${secondPort}`);
      const workspaces = document.sync.counts.find(({ kind }: Count) => kind === 'Workspace');
      expect(workspaces?.created).toBe(created);
    }
    await using third = runUp(['--offline', '--source', source], at);
    expect(await third.exited).toBe(exitCodes.retryable);
  });
});

interface Count {
  readonly kind: string;
}

function connectionOf({ host, port, user, password, name }: DatabaseSettings) {
  return { host, port, user, password: password!.reveal(), database: name };
}

describe('a configured external database', () => {
  it('is used instead of the embedded one', async () => {
    await using database = await createEmptyDatabase();
    const env = databaseVariables(database.settings);
    await using run = startUp(home.path, ['--once', '-o', 'json', '--source', source], env);
    expect(await run.exited, run.stderr()).toBe(exitCodes.success);
    expect(JSON.parse(run.stdout()).database).toMatchObject({ embedded: false });
    expect(existsSync(join(home.path, 'database'))).toBe(false);
    expect(run.stderr()).not.toContain(env.DB_PASS);
  });
});
