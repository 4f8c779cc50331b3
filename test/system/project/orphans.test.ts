/** Tests that no server and no database outlives the `npm start` that started them, however that ends. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { eventually } from '../../support/server/eventually.ts';
import { createTestHome, type TestHome } from '../../support/server/home.ts';
import { isRunning } from '../../support/server/process.ts';
import { example, fillUsedHome } from '../serve/used-home.ts';

const root = resolve(import.meta.dirname, '../../..');
let clone: string;
let home: TestHome;
let npm: ChildProcess;
let output: string;
let started: Running[];

/** A clone that is set up already; it runs the built program, because the sources take longer to start. */
beforeEach(async () => {
  home = createTestHome();
  await fillUsedHome(home.path);
  clone = mkdtempSync(join(tmpdir(), 'gatewright-clone-'));
  for (const name of ['scripts', 'package.json', 'package-lock.json']) {
    cpSync(join(root, name), join(clone, name), { recursive: true });
  }
  mkdirSync(join(clone, 'src'));
  symlinkSync(inject('builtProgram'), join(clone, 'src/main.ts'));
  mkdirSync(join(clone, 'node_modules'));
  const lock = readFileSync(join(root, 'package-lock.json'));
  const mark = createHash('sha256').update(lock).digest('hex');
  writeFileSync(join(clone, 'node_modules/.set-up-for'), mark);
});
afterEach(() => {
  for (const { pid } of [...started, ...descendants(npm.pid!), { pid: npm.pid! }]) {
    if (isRunning(pid)) process.kill(pid, 'SIGKILL');
  }
  rmSync(clone, { recursive: true, force: true });
  home[Symbol.dispose]();
});

interface Running {
  readonly pid: number;
  readonly command: string;
}

/** Descendants of a process, nearest first. */
function descendants(pid: number): Running[] {
  const children = readdirSync('/proc').flatMap((name) => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1').split(') ').at(-1)!.split(' ');
      if (Number(stat[1]) !== pid) return [];
      const command = readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ');
      return [{ pid: Number(name), command }];
    } catch {
      return [];
    }
  });
  return [...children, ...children.flatMap((child) => descendants(child.pid))];
}

/** Runs `npm start` until it watches; returns all of its processes. */
async function start(): Promise<Running[]> {
  output = '';
  started = [];
  const words = ['start', '--', '--port', '0', '--offline'];
  npm = spawn('npm', [...words, '--home', home.path, '--source', example], {
    cwd: clone,
    env: {
      PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}`,
      npm_config_update_notifier: 'false',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [npm.stdout!, npm.stderr!]) {
    stream.on('data', (chunk: Buffer) => {
      output += String(chunk);
    });
  }
  await eventually(() => {
    expect(npm.exitCode, output).toBe(null);
    expect(output).toContain('Ctrl-C stops everything');
  });
  started = descendants(npm.pid!);
  return started;
}

it.each([
  ['npm', 'SIGTERM'],
  ['npm', 'SIGKILL'],
  ['shell', 'SIGTERM'],
  ['shell', 'SIGKILL'],
  ['wrapper', 'SIGTERM'],
  ['wrapper', 'SIGKILL'],
] as const)('ends server and database when %s ends by %s', async (target, signal) => {
  const running = await start();
  const find = (pattern: RegExp) => running.find(({ command }) => pattern.test(command))?.pid;
  const server = find(/main\.ts up/)!;
  const database = find(/(mariadbd|mysqld) /)!;
  const wrapper = find(/^\S*node scripts\/run\.mjs/)!;
  // The wrapper is a shell that replaces itself by its last command.
  const shell = find(/^\S*sh -c /) ?? wrapper;
  expect([server, database, wrapper].every((pid) => isRunning(pid))).toBe(true);
  process.kill({ npm: npm.pid!, shell, wrapper }[target], signal);
  await eventually(() => expect([server, database].filter(isRunning)).toEqual([]));
  // An orderly end, unlike a kill: the home is left as after Ctrl-C.
  expect(readdirSync(home.path).filter((name) => /^run|running|database\.json/.test(name))).toEqual(
    [],
  );
});
