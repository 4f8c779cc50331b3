/** Knows the command that takes a folder of manifests to a running, self-hosted control plane. */
/*
 * The life of `up`. One process owns one home; what it starts, it starts in an order in which each
 * part finds what it needs, and stops in the reverse.
 *
 *   looked at    the source is there                     nothing was started yet
 *   locked       the home is this process's              a kernel lock: it ends with the process
 *   ready        ports are free, the master key is one   nothing was fetched or made yet
 *   database     embedded server up, or the one set      made beside its place and renamed into it
 *   migrated     the schema is this build's              resumable at each statement
 *   serving      master key proved, ports open, jobs on  the key is written before anything needs it
 *   known        credentials.json fits the database      the tenant's id is written before the tenant
 *   syncing      the first cycle, then the loop          as sync/watch.ts tells
 *   stopping     loop, server, database, log, lock       each waits for what it has under way
 *
 * A wrong source is told before anything is started, because a typing mistake should not cost a
 * database. Once the server listens a wrong source ends nothing: what was applied last stays, the
 * API answers, and the loop tells what to correct.
 *
 * What may die, and what holds then. Before `serving` the next start finds each step whole or not
 * begun. Between the tenant and its credentials a start leaves a service account whose secret nobody
 * has; the next one makes another for the same tenant, and nothing that is owned is lost. In the
 * middle of a cycle every change is a transaction of the server and repeats as such; keys follow the
 * protocol of docs/guides/key-delivery.md, Delivery of keys. When this process is killed, so is the embedded server
 * (embedded/leash.ts), which recovers what it had acknowledged. When that server dies first, the loop
 * ends and `up` with it: serving on without a database would only hide it, and who started `up` can
 * start it again. A first signal stops in order, a second one at once.
 *
 * `--once` takes the same way up to the first cycle and ends with what came of it.
 */
import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { freeMebibytes } from '../../embedded/embedded-database.ts';
import { makeHome } from '../../embedded/home-lock.ts';
import { type Ending, Failure } from '../../failure.ts';
import { packageRoot } from '../../package-root.ts';
import type { Settings } from '../../settings.ts';
import { readSource } from '../../sync/desired/desired.ts';
import { type LoopOptions, openLoop } from '../../sync/loop/open-loop.ts';
import { sourceText } from '../../sync/resources/applied-source.ts';
import type { DesiredSet } from '../../sync/resources/resource-set.ts';
import { gitLocationAt, isGitLocation } from '../../sync/source/git-location.ts';
import { openSource, readSources } from '../../sync/source/source.ts';
import type { Source } from '../../sync/source/source-files.ts';
import type { LoopEvent } from '../../sync/status/loop-event.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { credentialsPathOf } from '../shared/credentials-file.ts';
import { environmentOption, flag, outputForm, port, text } from '../shared/option.ts';
import { shellLine } from '../shared/shell-line.ts';
import { holderName, openClient } from '../sources/manifest-options.ts';
import { soundPart } from '../sources/sound-part.ts';
import { valueStoresIn } from '../sources/value-stores.ts';
import { eventText } from '../sources/watch-event.ts';
import { watchPace } from '../sources/watch-pace.ts';
import { assertOpenFiles, readUpSettings } from './up-checks.ts';
import {
  createProgress,
  endingOf,
  type StartReport,
  type SyncOutcome,
  startDocument,
  startText,
} from './up-report.ts';
import { logPathOf, type Started, startDeployment } from './up-start.ts';

interface Options {
  home: string | undefined;
  port: number | undefined;
  source: string | undefined;
  env: string | undefined;
  once: boolean;
  output: 'text' | 'json';
  offline: boolean;
  'prune-keys': boolean;
}

export const up: Command<Options> = {
  examples: [
    ['gatewright up', 'Sync ./gateway, or in a clone examples/1-quickstart, and keep watching it'],
    ['gatewright up --source ../team/gateway --port 9000', 'Another folder, another port'],
    ['gatewright up --source https://git.example.com/gw.git#main:prod', 'A folder of a branch'],
    ['gatewright up --once -o json --port 0', 'In a script: one sync, one JSON document, the end'],
  ],
  options: {
    home: text('DIR', {
      describe: 'Folder of the database, keys and credentials',
      fallback: 'GATEWRIGHT_HOME, else .gatewright',
    }),
    port: port(8080, {
      describe: 'Port of the API; 0 selects a free port',
      fallback: 'PORT, else 8080',
    }),
    source: text('PLACE', {
      describe: 'Folder of manifests, or Git URL (file:// for one of this machine)',
      fallback: './gateway, in a clone examples/1-quickstart',
    }),
    env: environmentOption,
    once: flag('Stop after the first sync, with its exit code'),
    output: outputForm(['text', 'json'], 'Form of the report; with json logs go to standard error'),
    offline: flag('Fetch nothing: a database server must be installed'),
    'prune-keys': flag('Also delete API keys and workspaces that left the source'),
  },
  run: async (options, io) => {
    assertOpenFiles();
    const { settings, home, isMetricsPortFree } = readUpSettings(io.cwd, options);
    const context = openContext({ settings, home, options, io });
    // What is cloned lies in the home; a folder is looked at before anything is made.
    if (isGitLocation(context.location)) makeHome(home);
    await context.source.newest();
    await using started = await startDeployment(
      {
        settings,
        home,
        port: options.port,
        isMetricsPortFree,
        offline: options.offline,
        mocksUpstream: context.isQuickstart,
        logPath: options.output === 'json' ? null : logPathOf(home),
        progress: context.progress,
      },
      io,
    );
    return options.once ? await syncOnce(context, started) : await syncOn(context, started);
  },
};

/** What one `up` works with, apart from the parts that run. */
interface Context {
  readonly home: string;
  readonly options: Options;
  readonly io: CommandIo;
  /** The source as named by the user. */
  readonly location: string;
  /** The example of a clone, which names the mock upstream. */
  readonly isQuickstart: boolean;
  /** Commands to try beside it. */
  readonly next: readonly string[];
  readonly source: Source;
  readonly loop: Omit<LoopOptions, 'client'>;
  readonly progress: (line: string) => void;
}

function openContext(given: {
  settings: Settings;
  home: string;
  options: Options;
  io: CommandIo;
}): Context {
  const { settings, home, options, io } = given;
  const location = options.source ?? defaultSource(io.cwd);
  const isQuickstart = cloneRoot !== null && resolve(io.cwd, location) === quickstart(cloneRoot);
  const secretsFolder = resolve(io.cwd, settings.sync.secretsDirectory ?? join(home, 'secrets'));
  const { sources: secrets, openSinks } = valueStoresIn(io.cwd, secretsFolder, settings);
  const { owner, environment } = settings.sync;
  const env = options.env ?? environment ?? undefined;
  const sourceOptions = {
    cwd: io.cwd,
    cacheDirectory: join(home, 'git'),
    git: { ...settings.sync.git, proxies: settings.proxies },
    environment: env ?? null,
    signal: io.signal,
  };
  const progress = createProgress(io.stderr);
  const atServer = serverNamed(io.cwd, settings, home, options.home);
  const source = openSource(location, sourceOptions);
  const read = async (from: string): Promise<DesiredSet> =>
    soundPart(await readSource(await readSources([from], sourceOptions), secrets), null);
  return {
    home,
    options,
    io,
    location,
    isQuickstart,
    next: [
      shellLine(io.cwd, 'plan', [location], { ...atServer, env: options.env }),
      shellLine(io.cwd, 'export', ['./exported'], atServer),
    ],
    source,
    loop: {
      source: sourceText({ repo: location, environment: env }),
      newest: () => source.newest(),
      ...watchPace([location], settings),
      readDesired: () => read(location),
      readAt: (commit) => read(gitLocationAt(location, commit)),
      descent: async (earlier, commit) => await source.descent?.(earlier, commit),
      prune: true,
      takeOwnership: false,
      settleMs: settings.sync.pruneSettleSeconds * 1000,
      pruneKeys: options['prune-keys'],
      secretsFolder,
      openSinks,
      // The server keeps it, for shells that have none of the settings here.
      command: (more) =>
        shellLine(io.cwd, 'apply', [location], { ...atServer, owner, env, ...more }),
      holder: holderName('up'),
      onWait: progress,
      signal: io.signal,
    },
    progress,
  };
}

/** What the commands that people run beside `up` have to be told to reach this server and no other. */
function serverNamed(cwd: string, settings: Settings, home: string, given: string | undefined) {
  const isUsual = given === undefined && home === resolve(cwd, settings.home);
  const isElsewhere = settings.sync.credentialsFile !== null;
  return {
    home: isUsual ? undefined : (given ?? home),
    credentials: isElsewhere ? credentialsPathOf(home) : undefined,
  };
}

function serverOptions(home: string) {
  return { home, credentials: credentialsPathOf(home), owner: undefined };
}

async function syncOnce(context: Context, started: Started): Promise<Ending> {
  const { home, io, location, progress } = context;
  await using client = openClient(serverOptions(home), io);
  progress(`syncing ${location}`);
  const outcome = await openLoop({ ...context.loop, client })
    .runOnce()
    .then(
      (result): SyncOutcome => ({ result, failure: null }),
      (error: unknown): SyncOutcome => {
        if (error instanceof Failure) return { result: null, failure: error };
        throw error;
      },
    );
  printStart(context, started, outcome);
  return endingOf(outcome);
}

/** Runs until the signal; throws `Failure` when the embedded database ends before that. */
async function syncOn(context: Context, started: Started): Promise<Ending> {
  const { home, io, location, progress } = context;
  await using client = openClient(serverOptions(home), io);
  const ended = new AbortController();
  void started.embedded?.exited.then((how) => ended.abort(how));
  progress(`syncing ${location}, and watching it`);
  const signal = AbortSignal.any([io.signal, ended.signal]);
  let isFirst = true;
  await openLoop({ ...context.loop, client, signal }).run({
    onEvent: (event) => {
      if (isFirst) printStart(context, started, outcomeOf(event));
      else printEvent(context, event);
      isFirst = false;
    },
  });
  if (!io.signal.aborted) throw databaseEnded(home, String(ended.signal.reason));
  progress('stopping');
  return 'success';
}

function outcomeOf(event: LoopEvent): SyncOutcome {
  return event.kind === 'failure'
    ? { result: null, failure: event.failure }
    : { result: event.result, failure: null };
}

/** Below this a database server may have ended for want of room. */
const fullDiskMebibytes = 8;

/** A database server that cannot write its log ends itself. */
function databaseEnded(home: string, how: string): Failure {
  const free = freeMebibytes(home);
  const way =
    free < fullDiskMebibytes
      ? `The disk of ${home} has ${free} MiB left: make room, then start again.`
      : 'Start again to go on.';
  return new Failure(
    'unexpected',
    `the embedded database ended unexpectedly (${how}); everything acknowledged is on disk.\n` +
      `Its log is ${join(home, 'database.log')}. ${way}`,
  );
}

function printStart(context: Context, started: Started, outcome: SyncOutcome): void {
  const { io, home, location, options } = context;
  const report: StartReport = {
    home,
    source: location,
    outcome,
    version: started.version,
    migration: started.migration,
    addresses: started.addresses,
    embedded: started.embedded !== null,
    credentialsPath: credentialsPathOf(home),
    logPath: options.output === 'json' ? null : logPathOf(home),
    next: [...context.next, ...triesOf(context, started)],
  };
  if (options.output === 'json') io.stdout.writeJson(startDocument(report));
  else io.stdout.write(startText(report));
  if (!options.once) io.stderr.write(`\nwatching ${location}; Ctrl-C stops everything\n`);
}

/** What can be asked of the server; of the quickstart a completion, whose key was delivered. */
function triesOf({ home, io, isQuickstart }: Context, { addresses }: Started): string[] {
  const description = `curl ${addresses.adminUrl}/openapi.json`;
  if (!isQuickstart) return [description];
  const key = relative(io.cwd, join(home, 'secrets/support/support-bot.key'));
  const body = '{"model":"any","messages":[{"role":"user","content":"hello"}]}';
  const completion =
    `curl ${addresses.inferenceUrl}/v1/chat/completions -H "authorization: Bearer $(cat ${key})" ` +
    `-H 'content-type: application/json' -d '${body}'`;
  return [completion, description];
}

/** With `-o json` standard output holds the one document; what follows is for people. */
function printEvent({ io, options }: Context, event: LoopEvent): void {
  const output = options.output === 'json' ? io.stderr : io.stdout;
  output.write(eventText(event, Date.now()));
}

/** Root of the clone whose sources run here; null in a built package. */
const cloneRoot = import.meta.filename.endsWith('.ts') ? packageRoot() : null;

function quickstart(root: string): string {
  return join(root, 'examples/1-quickstart');
}

function defaultSource(cwd: string): string {
  if (existsSync(join(cwd, 'gateway'))) return 'gateway';
  if (cloneRoot !== null) return relative(cwd, quickstart(cloneRoot)) || '.';
  throw new Failure(
    'invalidInput',
    'there is no folder ./gateway to sync. Pass the folder of your manifests, or a Git URL: ' +
      'gatewright up --source DIR',
  );
}
