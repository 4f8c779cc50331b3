/** Knows how `npm start`, `npm test` and their kin work in a fresh clone: set up what is missing, then run. */
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { binaries, handOnSignals, interrupt, isInterrupted, run, say } from './children.mjs';
import { installDependencies, isNewEnough, sayNodeIsMissing } from './dependencies.mjs';

// Plain JavaScript that an old Node runs too: it is what finds the right one.

/** The child holds a channel to this process, and stops in order when it closes, however this ends. */
const onLeash = ['inherit', 'inherit', 'inherit', 'ipc'];
const parentsPollMs = 500;

/** Each target: the commands it runs, in order; `node` is Node 24. Arguments go to the last one. */
const targets = {
  start: [['node', 'src/main.ts', 'up']],
  test: [['vitest', 'run']],
  'test:all': [['node', 'scripts/test-suites.mjs', 'all']],
  'test:chart': [['node', 'scripts/test-suites.mjs', 'chart']],
  'test:cluster': [['node', 'scripts/test-suites.mjs', 'cluster']],
  'test:containers': [['node', 'scripts/test-suites.mjs', 'containers']],
  'test:engines': [['node', 'scripts/test-suites.mjs', 'engines']],
  'test:gate': [['node', 'scripts/test-suites.mjs', 'gate']],
  'test:differential': [['node', 'scripts/test-suites.mjs', 'differential']],
  build: [['node', 'scripts/build.mjs']],
  chart: [['node', 'scripts/chart/generate.ts']],
  bench: [
    ['node', 'scripts/build.mjs'],
    ['node', 'bench/run.ts'],
  ],
  check: [['biome', 'ci'], ['tsc', '-p', '.'], ['knip'], ['vitest', 'run', '--project', 'unit']],
};

handOnSignals();
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
    if (isInterrupted()) return result === 0 ? 128 + constants.signals.SIGINT : result;
    const last = index === steps.length - 1;
    const all = last ? [...programArguments, ...rest] : programArguments;
    if (steps.length > 1) say(`${target}: ${program} ${programArguments.join(' ')}`);
    const script = program === 'node' ? [] : [resolve(binaries, program)];
    const stdio = target === 'start' ? onLeash : 'inherit';
    const code = await run(node, [...script, ...all], { stdio });
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
    interrupt();
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
