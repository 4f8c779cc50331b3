/** Runs `npm start`, `npm test` and the other npm scripts; installs missing dependencies first. */
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { binaries, forwardSignals, interrupt, isInterrupted, root, run, say } from './children.mjs';
import { findNode, installDependencies, sayNodeIsMissing } from './dependencies.mjs';

// Plain JavaScript that old versions of Node can run, because it finds the right version.

/** The child stops in order when the channel to this process closes, even after SIGKILL. */
const withChannel = ['inherit', 'inherit', 'inherit', 'ipc'];
const parentsPollMs = 500;

/** The commands of each target, in order; `node` is Node 24. Arguments go to the last command. */
const targets = {
  start: [['node', 'src/main.ts', 'up']],
  test: [['vitest', 'run']],
  'test:all': [['node', 'scripts/test-suites.mjs', 'all']],
  'test:agents': [['node', 'scripts/test-suites.mjs', 'agents']],
  'test:chart': [['node', 'scripts/test-suites.mjs', 'chart']],
  'test:cluster': [['node', 'scripts/test-suites.mjs', 'cluster']],
  'test:console': [['node', 'scripts/test-suites.mjs', 'console']],
  'test:containers': [['node', 'scripts/test-suites.mjs', 'containers']],
  'test:docs': [['node', 'scripts/test-suites.mjs', 'docs']],
  'test:engines': [['node', 'scripts/test-suites.mjs', 'engines']],
  'test:release': [['node', 'scripts/test-suites.mjs', 'release']],
  'test:gate': [['node', 'scripts/test-suites.mjs', 'gate']],
  'test:outage': [['node', 'scripts/test-suites.mjs', 'outage']],
  'test:mcp': [['node', 'scripts/test-suites.mjs', 'mcp']],
  'test:differential': [['node', 'scripts/test-suites.mjs', 'differential']],
  'test:openapi': [['node', 'scripts/test-suites.mjs', 'openapi']],
  gauntlet: [['node', 'test/gauntlet/main.ts']],
  'gauntlet:expiries': [['node', 'test/gauntlet/expiries/main.ts']],
  build: [['node', 'scripts/build.mjs']],
  release: [['node', 'scripts/release/release.ts']],
  prepack: [
    ['node', 'scripts/build.mjs'],
    ['node', 'scripts/docs/build.ts', '--packed', 'dist/docs'],
  ],
  chart: [['node', 'scripts/chart/generate.ts']],
  docs: [['node', 'scripts/docs/build.ts']],
  bench: [
    ['node', 'scripts/build.mjs'],
    ['node', 'bench/run.ts'],
  ],
  fuzz: [['node', 'test/fuzz/run.ts']],
  mutation: [['node', 'scripts/mutation/run.ts']],
  soak: [
    ['node', 'scripts/build.mjs'],
    ['node', 'test/soak/run.ts'],
  ],
  'bench:publish': [['node', 'bench/publish/publish.ts']],
  check: [
    ['biome', 'ci'],
    ['tsc', '-p', '.'],
    ['node', 'console/scripts/api-types.ts'],
    ['tsc', '-p', 'console'],
    ['knip'],
    ['vitest', 'run', '--project', 'unit'],
  ],
};

forwardSignals();
stopWithParents();

const [target, ...rest] = process.argv.slice(2);
const steps = targets[target];
if (steps === undefined) {
  say(`unknown target ${target}; targets: ${Object.keys(targets).join(', ')}`);
  process.exitCode = 5;
} else {
  process.exitCode = await main(steps);
}

async function main(steps) {
  const installCode = await installDependencies(target === 'start' ? 'production' : 'all');
  if (installCode !== 0) return installCode;
  const node = findNode();
  if (node === null) {
    sayNodeIsMissing();
    return 5;
  }
  if (target === 'start') await buildConsole(node);
  return await runSteps(steps, node);
}

/** Without a console everything else runs, so a failed build does not prevent the start. */
async function buildConsole(node) {
  const code = await run(node, [resolve(root, 'scripts/build-console.mjs')]);
  if (code !== 0 && !isInterrupted()) {
    say('start: the console could not be built, see above; going on without building it');
  }
}

/** Runs all steps even after a failure, so that one run shows every fault; returns the first failing code. */
async function runSteps(steps, node) {
  let result = 0;
  for (const [index, [program, ...programArguments]] of steps.entries()) {
    if (isInterrupted()) return result === 0 ? 128 + constants.signals.SIGINT : result;
    const last = index === steps.length - 1;
    const all = last ? [...programArguments, ...rest] : programArguments;
    if (steps.length > 1) say(`${target}: ${program} ${programArguments.join(' ')}`);
    const script = program === 'node' ? [] : [resolve(binaries, program)];
    const stdio = target === 'start' ? withChannel : 'inherit';
    const code = await run(node, [...script, ...all], { stdio });
    if (code !== 0 && steps.length > 1) say(`${target}: ${program} failed (exit ${code})`);
    if (result === 0) result = code;
  }
  return result;
}

/**
 * Stops the running step when npm, or the shell between npm and this process, has ended. A shell does
 * not forward signals, and SIGKILL cannot be forwarded, so the parent processes are polled.
 */
function stopWithParents() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parents = readParents();
  const poll = setInterval(() => {
    if (readParents() === parents) return;
    clearInterval(poll);
    interrupt();
  }, parentsPollMs);
  poll.unref();
}

/** The parent process and, if that is the shell of npm, its parent: `312 311`. */
function readParents() {
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
