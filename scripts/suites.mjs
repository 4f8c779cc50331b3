/** Knows how every suite of tests runs, two at a time, each for as long as it may, and how they are counted as one. */
import { isInterrupted, run } from './children.mjs';
import { takeTurns } from './turns.mjs';

const minuteMs = 60_000;
/** All suites together stay below 45 minutes: one that could not end by then is not begun. */
const totalMs = 44 * minuteMs;
/** One that waits leaves its processor to the other; more would wait for each other. */
const suitesAtOnce = 2;
/** How long a suite that was told to stop has for what it started, before it is killed. */
const stopMs = minuteMs;
/** How long what a suite left running may hold its output open. */
const drainMs = 1000;

/** Words for Node that run projects of the suites beside `npm test`. */
const deploy = (...projects) => [
  ...['node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.deploy.config.ts'],
  ...projects.flatMap((project) => ['--project', project]),
];
const asked = new Map();
/** What `ask` resolves with, asked once a run: to know it, something is started. */
function once(name, ask) {
  if (!asked.has(name)) asked.set(name, ask());
  return asked.get(name);
}
const missingDatabase = async (make) =>
  (await once('docker', missingDocker)) ??
  (await once(make, async () =>
    (await import('../test/containers/database-container.ts')).missingDatabase(make),
  ));

let ownEngine = null;

/** Why no Docker engine answers; null where one does, or one of our own has been started. */
async function missingDocker() {
  const engines = await import('../test/containers/own-engine.ts');
  if (process.env.DOCKER_HOST !== undefined || (await engines.answers())) return null;
  const why = engines.whyNoOwnEngine();
  if (why !== null) return `no Docker engine answers, and none can be started (${why})`;
  try {
    ownEngine = await engines.startOwnEngine();
  } catch (error) {
    return `no Docker engine answers, and ${error.message}`;
  }
  process.env.DOCKER_HOST = ownEngine.address;
  return null;
}

/** Ends what suites have been given, after the last of them. */
export async function stopOwnEngine() {
  await ownEngine?.[Symbol.asyncDispose]();
}

/**
 * In the order they begin, what takes long before what does not; what bears one name is one suite. `usualMs` is what it takes on two busy
 * processors, and what must be left for it to begin; `missing` resolves with why it cannot run here, or
 * null, and gives up when its signal says so. Tests say of themselves what else they lack.
 */
const suites = [
  { name: 'test', words: ['node_modules/vitest/vitest.mjs', 'run'], usualMs: 6 * minuteMs },
  { name: 'differential', words: deploy('differential'), usualMs: minuteMs },
  { name: 'gate', words: deploy('gate'), usualMs: 4 * minuteMs },
  {
    name: 'cluster',
    words: deploy('cluster', 'cluster-*'),
    usualMs: 16 * minuteMs,
    // Its tests of the API need no engine, and those of pods say why they are skipped.
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

/** Those of one name, with more words for the program that runs them, or every one for `all`. */
export function suitesOf(name, words = []) {
  return suites
    .filter((suite) => name === 'all' || suite.name === name)
    .map((suite) => ({ ...suite, words: [...suite.words, ...words] }));
}

/**
 * Runs them all with Node, two at a time in their order, whatever fails; writes what each says in one
 * piece, each one's share, what failed and the reasons of what was skipped; the last line is `N passed, N failed`, with
 * `, N skipped` where something was. A suite that has not ended when the time is up is stopped and counts
 * as failed; one for which none is left counts as skipped. Resolves with 0 where nothing failed, else
 * with 1.
 */
export async function runSuites(list, { node, totalMs: limitMs = totalMs, out = process.stdout }) {
  const endsAt = performance.now() + limitMs;
  const openTurn = takeTurns(out);
  const results = [];
  const waiting = [...list.entries()];
  const runWaiting = async () => {
    while (waiting.length > 0 && !isInterrupted()) {
      const [index, suite] = waiting.shift();
      const turn = openTurn();
      results[index] = await runSuite(suite, { node, endsAt, limitMs, out: turn });
      turn.end();
    }
  };
  await Promise.all(Array.from({ length: suitesAtOnce }, runWaiting));
  const ended = results.filter((result) => result !== undefined);
  out.write(`\n${report(ended)}\n`);
  return sum(ended, 'failed') === 0 ? 0 : 1;
}

/** Resolves with its share, with why it was skipped where it cannot run. */
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

/** What `missing` says; also where it fails, or takes so long that no time would be left for the suite. */
async function within(limitMs, missing) {
  const late = new AbortController();
  const reason = `what it needs could not be made ready in ${minutes(limitMs)}`;
  const { promise, resolve } = Promise.withResolvers();
  const timer = setTimeout(() => {
    resolve(reason);
    late.abort();
  }, limitMs);
  try {
    return await Promise.race([missing(late.signal), promise]);
  } catch (error) {
    return `what it needs cannot be made ready (${error.message.split('\n', 1)[0]})`;
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
  if (isLate) reasons.push(`stopped: it had not ended after ${minutes(tookMs)}`);
  return { ...count(lines, code), tookMs, reasons };
}

const countPattern = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/;
const isReason = (line) => /^(?:failed|skipped): /.test(line);

/** A suite that fails beside its tests, or ends without having counted them, has failed once. */
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
