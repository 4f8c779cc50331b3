/** Tests the launcher and the set-up script in a clone: they find what exists and report what does not. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../../..');
let clone: string;

beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), "My Projects; it's %41 #1 "));
  for (const name of ['bin', 'scripts', 'package.json', 'package-lock.json']) {
    cpSync(join(root, name), join(clone, name), { recursive: true });
  }
  mkdirSync(join(clone, 'src'));
});
afterEach(() => rmSync(clone, { recursive: true, force: true }));

/** A program in place of npm that only records its arguments. */
function fakeNpm(exitCode: number): { env: NodeJS.ProcessEnv; calls: () => string[] } {
  const script = join(clone, 'npm.js');
  const calls = join(clone, 'calls');
  writeFileSync(
    script,
    `import fs from 'node:fs';
     fs.appendFileSync(${JSON.stringify(calls)}, process.argv.slice(2).join(' ') + '\\n');
     fs.mkdirSync('node_modules', { recursive: true });
     console.log('added 188 packages');
     process.exit(process.argv[2] === 'ci' ? ${exitCode} : 0);`,
  );
  return {
    env: { ...process.env, npm_execpath: script },
    calls: () => readFileSync(calls, 'utf8').trim().split('\n'),
  };
}

/** Replaces the program that the target starts. */
function writeMain(text: string): void {
  writeFileSync(join(clone, 'src/main.ts'), text);
}

/** Lets the clone depend on one package, because npm takes long to request hundreds in vain. */
function dependOnOne(): void {
  const name = 'gatewright';
  const dependencies = { ms: '2.1.3' };
  const resolved = 'https://registry.npmjs.org/ms/-/ms-2.1.3.tgz';
  const packages = {
    '': { name, dependencies },
    'node_modules/ms': { version: '2.1.3', resolved },
  };
  const write = (file: string, content: object) =>
    writeFileSync(join(clone, file), JSON.stringify({ name, ...content }));
  write('package.json', { type: 'module', dependencies });
  write('package-lock.json', { lockfileVersion: 3, requires: true, packages });
}

/** A TCP server that calls `answer` with the client's data. */
async function listen(answer: (socket: Socket) => void) {
  const server = createServer((socket) => {
    socket.on('error', () => {}).on('data', () => answer(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

async function start(env: NodeJS.ProcessEnv, ...words: string[]) {
  return await runTarget('start', env, ...words);
}

async function runTarget(target: string, env: NodeJS.ProcessEnv, ...words: string[]) {
  const script = join(clone, 'scripts/run.mjs');
  return await run(process.execPath, [script, target, ...words], { env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
}

it('installs the dependencies once, and again when the lock file changes', async () => {
  writeMain(`console.log(process.argv.slice(2).join(' '));`);
  const { env, calls } = fakeNpm(0);
  expect(await start(env, '--port', '0')).toMatchObject({ code: 0, stdout: 'up --port 0\n' });
  await start(env);
  expect(calls()).toHaveLength(1);
  expect(calls()[0]).toMatch(/^ci --omit=dev --omit=optional --ignore-scripts/);
  writeFileSync(join(clone, 'package-lock.json'), '{}');
  await start(env);
  expect(calls()).toHaveLength(2);
});

/** `npm run build` needs the development packages, like tests. */
async function build(env: NodeJS.ProcessEnv) {
  writeFileSync(join(clone, 'scripts/build.mjs'), `console.log('built');`);
  return await runTarget('build', env);
}

it('adds the development packages after a start, and keeps them for the next start', async () => {
  writeMain('');
  const { env, calls } = fakeNpm(0);
  await start(env);
  expect(await build(env)).toMatchObject({ code: 0, stdout: 'built\n' });
  await start(env);
  await build(env);
  expect(calls().map((call) => call.split(' --ignore-scripts')[0])).toEqual([
    'ci --omit=dev --omit=optional',
    'ci',
  ]);
});

it('keeps the development packages when the lock file changes', async () => {
  writeMain('');
  const { env, calls } = fakeNpm(0);
  await build(env);
  writeFileSync(join(clone, 'package-lock.json'), '{}');
  await start(env);
  expect(calls().map((call) => call.split(' --ignore-scripts')[0])).toEqual(['ci', 'ci']);
});

it('installs again after an interrupted installation', async () => {
  writeMain('');
  const { env, calls } = fakeNpm(0);
  await start(env);
  const broken = { ...env, npm_execpath: join(clone, 'broken-npm.js') };
  writeFileSync(join(clone, 'broken-npm.js'), 'process.exit(137);');
  expect(await build(broken)).toMatchObject({ code: 137 });
  await start(env);
  expect(calls()).toHaveLength(2);
});

it.each([
  ['with all packages', true, 0],
  ['without those for development', false, 1],
])('detects the packages that a manual npm run %s installed', async (_, hasAll, count) => {
  const { env, calls } = fakeNpm(0);
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const names = hasAll ? Object.keys(devDependencies) : [];
  const packages = Object.fromEntries(names.map((name) => [`node_modules/${name}`, {}]));
  mkdirSync(join(clone, 'node_modules'));
  writeFileSync(join(clone, 'node_modules/.package-lock.json'), JSON.stringify({ packages }));
  writeFileSync(join(clone, 'calls'), '');
  await build(env);
  expect(calls().filter((call) => call !== '')).toHaveLength(count);
});

it.each([
  ['without a home to write to', (file: string) => ({ HOME: join(file, 'none') })],
  [
    'whose npm is told of a place that cannot be written',
    (file: string) => ({ npm_config_cache: join(file, 'none') }),
  ],
])('lets npm cache its downloads in the clone for a user %s', async (_, place) => {
  writeMain('');
  const { env, calls } = fakeNpm(0);
  const { npm_config_cache: _cache, ...bare } = env;
  expect(await start({ ...bare, ...place(join(clone, 'package.json')) })).toMatchObject({
    code: 0,
  });
  expect(calls()[0]).toContain(`--cache=${join(clone, '.cache/npm')}`);
});

it('redirects the npm output of the set-up away from standard output', async () => {
  writeMain(`console.log('{}');`);
  const { env } = fakeNpm(1);
  const { stdout, stderr } = await start(env);
  expect(stdout).toBe('{}\n');
  expect(stderr.match(/added 188 packages/g)).toHaveLength(2);
});

it('shows progress of a long set-up while data arrives, and lets npm give up an absent network soon', async () => {
  writeMain('');
  const { env, calls } = fakeNpm(0);
  writeFileSync(
    join(clone, 'slow-npm.js'),
    `import fs from 'node:fs';
     const kept = process.env.npm_config_cache + '/_cacache/tmp';
     fs.mkdirSync(kept, { recursive: true });
     const arriving = setInterval(() => fs.appendFileSync(kept + '/package', 'x'), 50);
     for await (const _ of process.stdin);
     clearInterval(arriving);
     await import('./npm.js');`,
  );
  const script = join(clone, 'scripts/run.mjs');
  const slowEnv = {
    ...env,
    npm_execpath: join(clone, 'slow-npm.js'),
    npm_config_cache: join(clone, 'npm-cache'),
    npm_config_fetch_timeout: '5000',
  };
  const set = spawn(process.execPath, [script, 'start'], { env: slowEnv });
  let reported = '';
  for await (const chunk of set.stderr) {
    reported += String(chunk);
    // By now it would have been abandoned without any data.
    if (/npm is still working, \d{2} s so far/.test(reported)) set.stdin.end();
  }
  expect(reported).toMatch(/still working[\s\S]*dependencies ready/);
  expect(calls()[0]).toMatch(/--fetch-retry-maxtimeout=3000/);
});

it.each([
  ['that accepts connections and never answers', () => {}],
  [
    'whose answers break off',
    (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{'),
  ],
])('abandons a registry %s, with the reason and exit code 6', async (_, answer) => {
  writeMain('');
  dependOnOne();
  await using registry = await listen(answer);
  const env = {
    ...process.env,
    npm_config_registry: `http://127.0.0.1:${registry.port}/`,
    npm_config_cache: join(clone, 'npm-cache'),
    npm_config_fetch_timeout: '1000',
  };
  const { code, stdout, stderr } = await start(env);
  expect(code).toBe(6);
  expect(stdout).toBe('');
  expect(stderr).toMatch(/registry cannot be reached\. Check the network, the proxy/);
  expect(stderr).not.toMatch(/npm install|npm http/);
});

it('falls back to npm install, which leaves the lock file unchanged', async () => {
  writeMain('');
  const { env, calls } = fakeNpm(1);
  expect((await start(env)).stderr).toMatch(/npm ci failed/);
  expect(calls()[1]).toMatch(/^install --no-save --omit=dev --omit=optional --ignore-scripts/);
});

it('returns the exit code of the command', async () => {
  writeMain('process.exitCode = 4;');
  const { env } = fakeNpm(0);
  expect(await start(env)).toMatchObject({ code: 4 });
});

it('forwards signals, and waits for the command to end', async () => {
  writeMain(`
    process.on('SIGTERM', () => { console.log('stopping'); process.exitCode = 0; clearInterval(t); });
    const t = setInterval(() => {}, 1000);
    process.kill(process.ppid, 'SIGTERM');`);
  const { env } = fakeNpm(0);
  expect(await start(env)).toMatchObject({ code: 0, stdout: 'stopping\n' });
});

it('rejects an unknown target and lists the existing ones', async () => {
  const script = join(clone, 'scripts/run.mjs');
  await expect(run(process.execPath, [script, 'strat'])).rejects.toMatchObject({
    code: 5,
    stderr: expect.stringMatching(/unknown target strat; targets: start, test, /),
  });
});

it('has a launcher that works from any directory and through a link, and reports a missing set-up', async () => {
  const link = join(clone, 'gw');
  symlinkSync(join(clone, 'bin/gatewright'), link);
  await expect(run(link, ['--version'], { cwd: tmpdir() })).rejects.toMatchObject({
    code: 5,
    stderr: expect.stringContaining('run npm start'),
  });
  const { stdout } = await run(join(root, 'bin/gatewright'), ['--version'], { cwd: tmpdir() });
  expect(stdout).toMatch(/^gatewright \d/);
});

/** Adds a console whose build writes the number of its source files. */
function addConsole(text: string): void {
  mkdirSync(join(clone, 'console/src'), { recursive: true });
  mkdirSync(join(clone, 'scripts/console'), { recursive: true });
  for (const name of ['main.ts', 'old.ts']) writeFileSync(join(clone, 'console/src', name), '');
  writeFileSync(join(clone, 'scripts/console/build.mjs'), text);
}

const builds = `
  import { mkdirSync, writeFileSync } from 'node:fs';
  export async function buildConsole(directory) {
    mkdirSync(directory, { recursive: true });
    writeFileSync(directory + '/index.html', 'built');
  }`;
const building = 'building the console';

it('builds the console before the start, and again only when a source is newer or gone', async () => {
  writeMain(`console.log(require('node:fs').readFileSync('.cache/console/index.html', 'utf8'));`);
  writeFileSync(join(clone, 'src/package.json'), '{"type": "commonjs"}');
  addConsole(builds);
  const { env } = fakeNpm(0);
  const first = await start(env);
  expect(first).toMatchObject({ code: 0, stdout: 'built\n' });
  expect(first.stderr).toContain(building);
  const now = Date.now() / 1000;
  const page = join(clone, '.cache/console/index.html');
  utimesSync(page, now + 60, now + 60);
  expect((await start(env)).stderr).not.toContain(building);
  utimesSync(join(clone, 'console/src/main.ts'), now + 120, now + 120);
  expect((await start(env)).stderr).toContain(building);
  utimesSync(join(clone, 'console/src/main.ts'), now, now);
  utimesSync(page, now - 60, now - 60);
  rmSync(join(clone, 'console/src/old.ts'));
  expect((await start(env)).stderr).toContain(building);
});

it('starts without the console when its build fails', async () => {
  writeMain(`console.log('started');`);
  addConsole(`export async function buildConsole() { throw new Error('no bundler'); }`);
  const { stdout, stderr, code } = await start(fakeNpm(0).env);
  expect([code, stdout]).toEqual([0, 'started\n']);
  expect(stderr).toContain('no bundler');
  expect(stderr).toContain('the console could not be built');
});
