/** Tests the package as published: bundle, migrations and manifest only. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { createPki } from '../../support/callers/pki.ts';
import { createEmptyDatabase } from '../../support/database/database.ts';
import { startTestDatabaseServer } from '../../support/database/database-server.ts';
import { runCli } from '../commands/run-cli.ts';

const root = resolve(import.meta.dirname, '../../..');
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'gatewright-built-'));
  cpSync(dirname(inject('builtProgram')), join(directory, 'dist'), {
    recursive: true,
    // Other test files store shared data there.
    filter: (path) => basename(path) !== 'first-start',
  });
  for (const name of ['migrations', 'package.json']) {
    cpSync(join(root, name), join(directory, name), { recursive: true });
  }
});
afterAll(() => rmSync(directory, { recursive: true }));

it('is packed with the bundle and everything that it reads, and needs no other package', async () => {
  const packed = mkdtempSync(join(tmpdir(), 'gatewright-packed-'));
  try {
    execFileSync('npm', ['pack', '--pack-destination', packed], { cwd: root, stdio: 'pipe' });
    const [archive] = readdirSync(packed);
    execFileSync('tar', ['xzf', archive!], { cwd: packed });
    const program = join(packed, 'package/dist/main.js');
    for (const words of [['version'], ['validate', 'package/examples/1-quickstart'], ['images']]) {
      const { exitCode, stderr } = await runCli(words, null, { program, cwd: packed });
      expect([words, exitCode, stderr]).toEqual([words, 0, '']);
    }
    await using database = await createEmptyDatabase();
    const migrated = await runCli(['migrate'], database.settings, { program });
    expect([migrated.exitCode, migrated.stderr]).toEqual([0, '']);
  } finally {
    rmSync(packed, { recursive: true, force: true });
  }
});

it('is not built when a library part that it leaves out has moved', () => {
  const copy = mkdtempSync(join(root, '.cache/moved-'));
  try {
    for (const name of ['src', 'node_modules', 'migrations', 'package.json']) {
      symlinkSync(join(root, name), join(copy, name));
    }
    mkdirSync(join(copy, 'scripts'));
    const script = readFileSync(join(root, 'scripts/build.mjs'), 'utf8');
    const moved = script.replace("'./lib/create_pool.js'", "'./lib/moved_pool.js'");
    expect(moved).not.toBe(script);
    writeFileSync(join(copy, 'scripts/build.mjs'), moved);
    const built = spawnSync(process.execPath, [join(copy, 'scripts/build.mjs'), join(copy, 'out')]);
    expect([built.status, built.stderr.toString()]).toEqual([
      1,
      expect.stringContaining('that no library imports: mysql2 ./lib/moved_pool.js. Find'),
    ]);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
});

it('migrates a database and runs its jobs with the built program', async () => {
  await using database = await createEmptyDatabase();
  const program = join(directory, 'dist/main.js');
  const migrated = await runCli(['migrate'], database.settings, { program });
  expect(migrated).toMatchObject({ exitCode: 0, stderr: '' });
  expect(migrated.stdout).toMatch(/applied 0001_tenancy\n/);
  const checked = await runCli(['migrate', '--check'], database.settings, { program });
  expect(checked).toMatchObject({ exitCode: 0, stdout: 'current: nothing is missing\n' });
  const ran = await runCli(['jobs', 'run', 'reset-usage'], database.settings, { program });
  expect(ran).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('keys 0') });
});

it('connects over TLS with the built program, and reports why a database refuses it', async () => {
  using pki = createPki();
  const authority = pki.authority('house');
  const issued = authority.issue({ name: 'good', altNames: 'DNS:localhost' });
  const { server, stop } = await startTestDatabaseServer([
    `--ssl-cert=${issued.certPath}`,
    `--ssl-key=${issued.keyPath}`,
  ]);
  const { port, user, password } = server;
  const check = (env: Record<string, string>) =>
    runCli(['migrate', '--check'], null, {
      program: join(directory, 'dist/main.js'),
      env: {
        DB_HOST: 'localhost',
        DB_PORT: String(port),
        DB_USER: user,
        DB_PASS: password,
        DB_NAME: 'mysql',
        DB_SSL: 'VERIFY_IDENTITY',
        DB_SSL_CA_FILE: authority.certPath,
        ...env,
      },
    });
  try {
    expect(await check({})).toMatchObject({ exitCode: 2, stderr: '' });
    expect((await check({ DB_PASS: 'wrong' })).stderr).toMatch(/DB_PASS/);
    const { certPath } = pki.authority('stranger');
    expect((await check({ DB_SSL_CA_FILE: certPath })).stderr).toMatch(/certificate/);
  } finally {
    await stop();
  }
});

describe('the compile cache', () => {
  const program = () => join(directory, 'dist/main.js');
  let folder: string;
  const start = (words: readonly string[], env: Record<string, string> = {}) =>
    runCli(words, null, { program: program(), env: { NODE_COMPILE_CACHE: folder, ...env } });
  /** Output of the command `settings`. */
  const storedFile = () =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /gatewright-settings-[\w-]+\.cjs$/.test(name))
      .map((name) => join(folder, name))[0];
  const displayed = { exitCode: 0, stderr: '' };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gatewright-kept-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is private to the user, and is written once', async () => {
    expect(await start(['settings'])).toMatchObject(displayed);
    const first = statSync(storedFile()!);
    expect(first.mode & 0o777).toBe(0o600);
    expect(first.size).toBeGreaterThan(100_000);
    expect(await start(['settings'])).toMatchObject(displayed);
    expect(statSync(storedFile()!).ino).toBe(first.ino);
  });

  it('is not written by a start that failed or printed help, which compiles little of the command', async () => {
    expect(await start(['settings', '--help'])).toMatchObject(displayed);
    expect(await start(['settings', '--chekc'])).toMatchObject({ exitCode: 5 });
    expect(storedFile()).toBeUndefined();
  });

  it.each([
    ['one bit of code', (bytes: Buffer) => bytes.fill(bytes[50_000]! ^ 1, 50_000, 50_001)],
    ['the list of parts', (bytes: Buffer) => bytes.fill('}', 10, 12)],
    ['the length of the list', (bytes: Buffer) => bytes.fill(0xff, 4, 8)],
    ['the end', (bytes: Buffer) => bytes.subarray(0, -1)],
    ['all', () => Buffer.alloc(0)],
  ])('is rebuilt when it is damaged: %s', async (_, damage) => {
    await start(['settings']);
    const whole = readFileSync(storedFile()!);
    const damaged = damage(Buffer.from(whole));
    expect(damaged.equals(whole)).toBe(false);
    writeFileSync(storedFile()!, damaged);
    expect(await start(['settings'])).toMatchObject(displayed);
    expect(readFileSync(storedFile()!).length).toBeGreaterThan(whole.length / 2);
    const { ino } = statSync(storedFile()!);
    expect(await start(['settings'])).toMatchObject(displayed);
    expect(statSync(storedFile()!).ino).toBe(ino);
  });

  it.runIf(process.getuid!() === 0)('is not used when it belongs to another user', async () => {
    await start(['settings']);
    const { ino } = statSync(storedFile()!);
    chownSync(storedFile()!, 65_534, 65_534);
    expect(await start(['settings'])).toMatchObject(displayed);
    expect(statSync(storedFile()!)).toMatchObject({ uid: 0 });
    expect(statSync(storedFile()!).ino).not.toBe(ino);
  });

  it('is skipped where it cannot be written', async () => {
    expect(await start(['settings'], { NODE_DISABLE_COMPILE_CACHE: '1' })).toMatchObject(displayed);
    expect(readdirSync(folder)).toEqual([]);
    await start(['settings']);
    const file = storedFile()!;
    rmSync(file);
    mkdirSync(file);
    expect(await start(['settings'])).toMatchObject(displayed);
    expect(
      readdirSync(dirname(file)).filter((name) => /gatewright-settings.*[.]\d+$/.test(name)),
    ).toEqual([]);
  });
});
