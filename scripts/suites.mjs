/** Runs the test suites two at a time within a time limit and adds up their results. */
import { isInterrupted, run } from './children.mjs';
import { orderOutput } from './ordered-output.mjs';

const minuteMs = 60_000;
/** All suites together take less than 45 minutes; a suite that cannot end by then is skipped. */
const totalMs = 44 * minuteMs;
/** While one suite waits, the other uses the processor; more would compete. */
const suitesAtOnce = 2;
/** Time between SIGINT and SIGKILL, in which a suite can stop its own processes. */
const stopMs = minuteMs;
/** Time for which orphaned processes of a suite may hold its output open. */
const drainMs = 1000;

/** Arguments for Node that run vitest projects outside `npm test`. */
const deploy = (...projects) => [
  'node_modules/vitest/vitest.mjs',
  'run',
  '--config',
  'vitest.deploy.config.ts',
  ...projects.flatMap((project) => ['--project', project]),
];
const checks = new Map();
/** Calls `check` once a run, because checks start programs; later calls get the same result. */
function once(name, check) {
  if (!checks.has(name)) checks.set(name, check());
  return checks.get(name);
}
const missingDatabase = async (make) =>
  (await once('docker', missingDocker)) ??
  (await once(make, async () =>
    (await import('../test/containers/database-container.ts')).missingDatabase(make),
  ));

let ownEngine = null;

/** The reason why no Docker engine is available; null when one responds or could be started. */
async function missingDocker() {
  const engines = await import('../test/containers/own-engine.ts');
  if (process.env.DOCKER_HOST !== undefined || (await engines.answers())) return null;
  const why = engines.whyNoOwnEngine();
  if (why !== null) return `no Docker engine responds, and none can be started (${why})`;
  try {
    ownEngine = await engines.startOwnEngine();
  } catch (error) {
    return `no Docker engine responds, and ${error.message}`;
  }
  process.env.DOCKER_HOST = ownEngine.address;
  return null;
}

/** Stops the Docker engine that the suites shared. */
export async function stopOwnEngine() {
  await ownEngine?.[Symbol.asyncDispose]();
}

/**
 * In starting order, roughly the longest first; entries with the same name are one suite. `usualMs` is
 * the duration on two busy processors, and the time that must be left for it to start. `missing`
 * resolves with the reason why the suite cannot run here, or null, and respects its abort signal.
 * Tests report other missing requirements themselves.
 */
const suites = [
  { name: 'test', words: ['node_modules/vitest/vitest.mjs', 'run'], usualMs: 6 * minuteMs },
  { name: 'differential', words: deploy('differential'), usualMs: minuteMs },
  {
    name: 'openapi',
    words: deploy('openapi'),
    usualMs: minuteMs,
    missing: async () => (await import('../test/openapi/tools.ts')).missingTools(),
  },
  { name: 'mcp', words: deploy('mcp'), usualMs: minuteMs },
  // Its tests report why they are skipped where the packages of the site cannot be had.
  { name: 'docs', words: deploy('docs'), usualMs: 2 * minuteMs },
  { name: 'agents', words: deploy('agents'), usualMs: 2 * minuteMs },
  {
    name: 'console',
    words: deploy('console'),
    usualMs: 2 * minuteMs,
    missing: async () => (await import('../test/support/console/chromium.ts')).missingChromium(),
  },
  { name: 'gate', words: deploy('gate'), usualMs: 4 * minuteMs },
  { name: 'outage', words: deploy('outage'), usualMs: 4 * minuteMs },
  // One plan of faults for every run of the suites; `npm run gauntlet` draws others.
  {
    name: 'gauntlet',
    words: ['test/gauntlet/main.ts', '--minutes', '1', '--rate', '60', '--seed', '6'],
    usualMs: 4 * minuteMs,
  },
  // A sample of the lines that the branch, or on main the last day, has changed.
  {
    name: 'mutation',
    // Half of what is required elsewhere, until each room is shown to reach it (docs/reference/mutation-score.md).
    words: ['scripts/mutation/run.ts', '--changed', '--min', '42'],
    usualMs: 2 * minuteMs,
  },
  {
    name: 'cluster',
    words: deploy('cluster', 'cluster-*'),
    usualMs: 16 * minuteMs,
    // Tests of the API need no Docker engine; tests of pods report why they are skipped.
    missing: async () => {
      await once('docker', missingDocker);
      return null;
    },
  },
  {
    name: 'chart',
    words: deploy('chart'),
    usualMs: 3 * minuteMs,
    missing: async () => (await import('../test/chart/helm.ts')).missingHelm(),
  },
  {
    name: 'release',
    words: deploy('release'),
    usualMs: 6 * minuteMs,
    missing: async () => (await import('../test/release/build-release.ts')).missingRelease(),
  },
  ...['mariadb', 'mysql'].map((make) => ({
    name: 'containers',
    part: make,
    words: deploy(`containers-${make}`),
    usualMs: 4 * minuteMs,
    missing: () => missingDatabase(make),
  })),
  {
    name: 'engines',
    part: 'vitess',
    words: deploy('engines-vitess'),
    usualMs: 12 * minuteMs,
    missing: async (signal) =>
      (await missingDatabase('mysql')) ??
      (await import('../test/engines/vitess-program.ts')).missingVitess(signal),
  },
  {
    name: 'engines',
    part: 'mysql',
    words: deploy('engines-mysql'),
    usualMs: 8 * minuteMs,
    missing: () => missingDatabase('mysql'),
  },
  {
    name: 'engines',
    part: 'galera',
    words: deploy('engines-galera'),
    usualMs: 5 * minuteMs,
    missing: async () =>
      (await missingDatabase('mariadb')) ??
      (await import('../test/engines/galera-cluster.ts')).missingGalera(),
  },
];

/** The suites with that name, or all for `all`, with `words` appended to their arguments. */
export function suitesOf(name, words = []) {
  return suites
    .filter((suite) => name === 'all' || suite.name === name)
    .map((suite) => ({ ...suite, words: [...suite.words, ...words] }));
}

/**
 * Runs all suites with Node, two at a time in order, and continues after failures. Writes the output
 * of each suite in one piece, then a table, failures and reasons for skipping. The last line is
 * `N passed, N failed`, with `, N skipped` if any. A suite that is still running when the time is up
 * is stopped and counts as failed; a suite for which no time is left counts as skipped.
 *
 * Resolves with 0 if nothing failed, else with 1.
 */
export async function runSuites(list, { node, totalMs: limitMs = totalMs, out = process.stdout }) {
  const endsAt = performance.now() + limitMs;
  const openWriter = orderOutput(out);
  const results = [];
  const waiting = [...list.entries()];
  const runWaiting = async () => {
    while (waiting.length > 0 && !isInterrupted()) {
      const [index, suite] = waiting.shift();
      const writer = openWriter();
      results[index] = await runSuite(suite, { node, endsAt, limitMs, out: writer });
      writer.end();
    }
  };
  await Promise.all(Array.from({ length: suitesAtOnce }, runWaiting));
  const ended = results.filter((result) => result !== undefined);
  out.write(`\n${report(ended)}\n`);
  return sum(ended, 'failed') === 0 ? 0 : 1;
}

/** Resolves with the counts, and the reason when the suite was skipped. */
async function runSuite(suite, { node, endsAt, limitMs, out }) {
  const { words, usualMs, missing = async () => null } = suite;
  const name = [suite.name, suite.part].filter(Boolean).join(' ');
  const spareMs = endsAt - performance.now() - usualMs;
  const noTime = spareMs < 0 ? `no time is left, of ${minutes(limitMs)}` : null;
  const reason = noTime ?? (await within(spareMs, missing));
  if (reason !== null) {
    const reasons = [`skipped: ${name}: ${reason}`];
    return { name, passed: 0, failed: 0, skipped: 1, tookMs: 0, reasons };
  }
  out.write(`\n${name}: ${words.join(' ')}\n`);
  return { name, ...(await runWords({ node, words, leftMs: endsAt - performance.now(), out })) };
}

/** The result of `missing`, or a reason when it fails or leaves no time for the suite. */
async function within(limitMs, missing) {
  const late = new AbortController();
  const reason = `its requirements could not be prepared in ${minutes(limitMs)}`;
  const { promise, resolve } = Promise.withResolvers();
  const timer = setTimeout(() => {
    resolve(reason);
    late.abort();
  }, limitMs);
  try {
    return await Promise.race([missing(late.signal), promise]);
  } catch (error) {
    return `its requirements cannot be prepared (${error.message.split('\n', 1)[0]})`;
  } finally {
    clearTimeout(timer);
  }
}

async function runWords({ node, words, leftMs, out }) {
  const began = performance.now();
  const lines = [];
  let rest = '';
  let timers = [];
  let isLate = false;
  const code = await run(node, words, {
    stdio: ['ignore', 'pipe', 'pipe'],
    onStart: (child) => {
      child.stderr.setEncoding('utf8').on('data', (text) => out.write(text));
      child.stdout.setEncoding('utf8').on('data', (text) => {
        out.write(text);
        const parts = (rest + text).split('\n');
        rest = parts.pop();
        lines.push(...parts.filter((line) => countPattern.test(line) || isReason(line)));
      });
      timers = [
        setTimeout(() => {
          isLate = true;
          child.kill('SIGINT');
        }, leftMs),
        setTimeout(() => child.kill('SIGKILL'), leftMs + stopMs),
      ];
      child.once('exit', () => {
        const close = () => {
          child.stdout.destroy();
          child.stderr.destroy();
        };
        timers.push(setTimeout(close, drainMs));
      });
    },
  });
  for (const timer of timers) clearTimeout(timer);
  const tookMs = performance.now() - began;
  const reasons = lines.filter(isReason);
  if (isLate) reasons.push(`stopped: still running after ${minutes(tookMs)}`);
  return { ...count(lines, code), tookMs, reasons };
}

const countPattern = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/;
const isReason = (line) => /^(?:failed|skipped): /.test(line);

/** A suite that fails outside its tests, or prints no counts, counts as one failure. */
function count(lines, code) {
  const [, passed = 0, failed = 0, skipped = 0] =
    lines.findLast((line) => countPattern.test(line))?.match(countPattern) ?? [];
  const hidden = code !== 0 && Number(failed) === 0 ? 1 : 0;
  return { passed: Number(passed), failed: Number(failed) + hidden, skipped: Number(skipped) };
}

function report(results) {
  const rows = results.map(
    ({ name, passed, failed, skipped, tookMs }) =>
      `${name.padEnd(20)}${String(passed).padStart(6)} passed${String(failed).padStart(4)} failed` +
      `${String(skipped).padStart(5)} skipped  ${minutes(tookMs)}`,
  );
  const reasons = results.flatMap((result) => result.reasons);
  const skipped = sum(results, 'skipped');
  const last =
    `${sum(results, 'passed')} passed, ${sum(results, 'failed')} failed` +
    (skipped === 0 ? '' : `, ${skipped} skipped`);
  return [...rows, ...reasons, last].join('\n');
}

function sum(results, key) {
  return results.reduce((total, result) => total + result[key], 0);
}

function minutes(ms) {
  return `${Math.floor(ms / minuteMs)} min ${Math.round((ms % minuteMs) / 1000)} s`;
}
