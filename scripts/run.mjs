/** Knows how `npm start`, `npm test` and their kin work in a fresh clone: set up what is missing, then run. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, resolve } from 'node:path';

// Plain JavaScript that an old Node runs too: it is what finds the right one.

const root = resolve(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '..');
const binaries = resolve(root, 'node_modules/.bin');
const lockPath = resolve(root, 'package-lock.json');
const markerPath = resolve(root, 'node_modules/.set-up-for');
const nodeMajorMin = 24;

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
    say(`gatewright needs Node ${nodeMajorMin} or newer; this is ${process.version}.`);
    say('Install it (https://nodejs.org, or: npx -p node@24 -- npm start) and try again.');
    return 5;
  }
  return await runSteps(steps, node);
}

/** Runs npm once, and again when the lock file has changed since. */
async function installDependencies() {
  const hasLock = existsSync(lockPath);
  const wanted = hasLock
    ? createHash('sha256').update(readFileSync(lockPath)).digest('hex')
    : 'no lock file';
  if (isInstalled(wanted)) return 0;
  const startedAt = Date.now();
  let code = hasLock ? await npm('ci') : await npm('install');
  if (code !== 0 && hasLock && !interrupted) {
    say('set-up: npm ci failed (see above); trying npm install, which leaves the lock file alone');
    code = await npm('install', '--no-save');
  }
  if (code !== 0) {
    say(`set-up: the dependencies could not be installed (npm exit ${code}); see above`);
    return code;
  }
  writeFileSync(markerPath, wanted);
  say(`set-up: dependencies ready, ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  return 0;
}

/** Scripts of packages are never run; the warnings about an older Node are answered by findNode. */
function npm(...words) {
  say(`set-up: installing dependencies into node_modules (npm ${words.join(' ')}, once)`);
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const npmScript = process.env.npm_execpath;
  return npmScript?.endsWith('.js')
    ? run(process.execPath, [npmScript, ...words, ...flags])
    : run('npm', [...words, ...flags]);
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
  if (Number.parseInt(process.versions.node, 10) >= nodeMajorMin) return process.execPath;
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
    const code = await run(node, [...script, ...all]);
    if (code !== 0 && steps.length > 1) say(`${target}: ${program} failed (exit ${code})`);
    if (result === 0) result = code;
  }
  return result;
}

/** Resolves with the exit code, or with 128 and the signal's number as shells have it. */
function run(program, programArguments) {
  return new Promise((done) => {
    child = spawn(program, programArguments, {
      cwd: root,
      stdio: 'inherit',
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
