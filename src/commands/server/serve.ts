/** Defines the `serve` command, which serves the Admin API, inference and MCP until it is stopped. */
import { once } from 'node:events';
import { resolve } from 'node:path';
import { allComponents, type Component } from '../../app/components.ts';
import { missingMasterKey } from '../../app/missing-settings.ts';
import { type App, openApp } from '../../app.ts';
import { Failure } from '../../failure.ts';
import { createLog, type Log } from '../../log.ts';
import { readSettings, type Settings } from '../../settings.ts';
import { migrate } from '../../store/migrations/migrate.ts';
import { resolveDatabase } from '../database/database.ts';
import type { Command } from '../shared/command.ts';
import { keepHeapSmall } from '../shared/heap.ts';
import {
  choicesOption,
  homeOption,
  portOption,
  switchOption,
  textOption,
} from '../shared/option.ts';
import { reasonOfFailure, reasonUnavailable, type Wait, waitWhile } from '../shared/wait.ts';

interface Options {
  host: string | undefined;
  port: number | undefined;
  'metrics-port': number | undefined;
  'inference-port': number | undefined;
  'mcp-port': number | undefined;
  components: readonly Component[];
  'no-jobs': boolean;
  migrate: boolean;
  home: string | undefined;
}

export const serveCommand: Command<Options> = {
  examples: [
    ['gatewright serve', 'Listen at GATEWRIGHT_HOST and PORT'],
    ['gatewright serve --migrate', 'Bring the database to this version first'],
    ['gatewright serve --components gateway', 'Inference only, with any number of replicas'],
    ['gatewright serve --port 0 --no-jobs', 'Use a free port; leave the jobs to other replicas'],
  ],
  options: {
    host: textOption('ADDRESS', {
      describe: 'Address to listen on',
      fallback: 'GATEWRIGHT_HOST, else 127.0.0.1',
    }),
    port: portOption(8080, {
      describe: 'Port of the Admin API; 0 selects a free port',
      fallback: 'PORT, else 8080',
    }),
    'metrics-port': portOption(9464, {
      describe: 'Port of the Prometheus metrics; 0 selects a free port',
      fallback: 'GATEWRIGHT_METRICS_PORT, else 9464',
    }),
    'inference-port': portOption(8787, {
      describe: 'Port of inference; 0 selects a free port',
      fallback: 'GATEWRIGHT_INFERENCE_PORT, else 8787',
    }),
    'mcp-port': portOption(8788, {
      describe: 'Port of the MCP gateway; 0 selects a free port',
      fallback: 'GATEWRIGHT_MCP_PORT, else 8788',
    }),
    components: choicesOption(allComponents, 'LIST', {
      describe: 'What to run, separated by commas: admin, gateway, mcp, jobs',
      fallback: 'all; gateway,mcp with GATEWRIGHT_LINK_URL, and jobs with GATEWRIGHT_REGION',
    }),
    'no-jobs': switchOption('Leave the scheduled jobs to other replicas'),
    migrate: switchOption(
      'Run missing migrations first; without it a database that is behind is refused',
    ),
    home: homeOption,
  },
  run: async (options, io) => {
    const settings = withOptions(readSettings(undefined, { cwd: io.cwd }), options);
    if (settings.masterKeys === null) throw missingMasterKey();
    const log = createLog({ level: settings.logLevel ?? 'info', destination: io.stderr });
    for (const warning of settings.warnings) log.warn(warning);
    const home = resolve(io.cwd, options.home ?? settings.home);
    const { url, region } = settings.controlLink;
    const isLinked = url !== null;
    if (isLinked) refuseWithoutDatabase(options, region);
    const hasDatabase = !isLinked || region !== null;
    const database = hasDatabase ? await resolveDatabase(settings, home) : null;
    const components = componentsOf(options, usualComponents(settings));
    const app = openApp({ ...settings, database }, { log, components });
    try {
      let hasStarted = false;
      await start(app, log, {
        seconds: settings.databaseStartWaitSeconds,
        signal: io.signal,
        awaited: awaitedBy(settings.controlLink),
        work: async () => {
          if (database !== null && options.migrate)
            await migrate(database, { log, signal: io.signal });
          await app.connect();
        },
        onServing: async () => {
          if (hasStarted) return;
          hasStarted = true;
          await io.onStarted();
          keepHeapSmall();
        },
      });
      if (!io.signal.aborted) await once(io.signal, 'abort');
      log.info('stopping');
    } finally {
      await app[Symbol.asyncDispose]();
    }
    log.info('stopped');
    return 'success';
  },
};

/** Components that need no database, and those of a region, which has jobs of its own. */
const linkedComponents: readonly Component[] = ['gateway', 'mcp'];
const regionComponents: readonly Component[] = ['gateway', 'mcp', 'jobs'];

function usualComponents({
  controlLink: { url, region },
}: Pick<Settings, 'controlLink'>): readonly Component[] {
  if (url === null) return allComponents;
  return region === null ? linkedComponents : regionComponents;
}

/** @throws Failure when an option needs a database that the process does not have */
function refuseWithoutDatabase(
  { components, migrate: migrates }: Options,
  region: string | null,
): void {
  const fit = region === null ? linkedComponents : regionComponents;
  const unfit = components.filter((one) => !fit.includes(one));
  const words = [
    ...(migrates && region === null ? ['--migrate'] : []),
    ...(unfit.length === 0 ? [] : [`--components ${unfit.join(',')}`]),
  ];
  if (words.length === 0) return;
  if (region !== null)
    throw new Failure(
      'invalidInput',
      `${words.join(' and ')} needs the database of home, but GATEWRIGHT_REGION makes this process one of a ` +
        'region: leave it out, or run it at home',
    );
  throw new Failure(
    'invalidInput',
    `${words.join(' and ')} needs a database, but GATEWRIGHT_LINK_URL makes this process a gateway ` +
      'without one: leave it out, or unset GATEWRIGHT_LINK_URL and set DB_HOST',
  );
}

function awaitedBy({ url, region }: Settings['controlLink']) {
  if (url === null) return 'the database';
  return region === null ? 'the control plane' : "home and the region's database";
}

function componentsOf(options: Options, usual: readonly Component[]): readonly Component[] {
  const wanted = options.components.length === 0 ? usual : options.components;
  return wanted.filter((component) => component !== 'jobs' || !options['no-jobs']);
}

interface Start extends Pick<Wait, 'signal'> {
  /** Names in the log what the work needs. */
  readonly awaited: ReturnType<typeof awaitedBy>;
  /** Longest wait for the database without a snapshot. */
  readonly seconds: number;
  /** Work that needs the database before requests are served. */
  readonly work: () => Promise<void>;
  /** Called when requests are served; a second time when the database is reached after a start from a snapshot. */
  readonly onServing: () => Promise<void>;
}

/**
 * All ports respond while waiting for the database, so that liveness probes succeed. Gateways with a snapshot serve
 * from it meanwhile, without a time limit.
 */
async function start(app: App, log: Log, options: Start): Promise<void> {
  const { work, seconds, signal, onServing, awaited } = options;
  let isListening = false;
  const listen = async (): Promise<void> => {
    if (isListening) return;
    isListening = true;
    log.info(await app.listen(), 'listening');
  };
  let isDone = false;
  const attempt = async (): Promise<void> => {
    await work();
    isDone = true;
  };
  let hasSnapshot = false;
  const say = async (reason: string): Promise<void> => {
    if (!isListening) hasSnapshot = await app.openFromSnapshot();
    log.warn({ reason, ...(hasSnapshot ? {} : { secondsMax: seconds }) }, `waiting for ${awaited}`);
    await listen();
    if (hasSnapshot) await onServing();
  };
  // Another database at the address does not end gateways that serve.
  const reason = () => (hasSnapshot ? reasonOfFailure(attempt) : reasonUnavailable(attempt));
  try {
    const secondsMax = () => (hasSnapshot ? Number.POSITIVE_INFINITY : seconds);
    await waitWhile(reason, { seconds: secondsMax, signal, say });
  } catch (error) {
    if (hasSnapshot && signal.aborted) return;
    throw error;
  }
  if (!isDone) await attempt();
  await listen();
  await onServing();
}

function withOptions(settings: Settings, options: Options): Settings {
  const { host, port, metricsPort } = settings.server;
  return {
    ...settings,
    inference: {
      ...settings.inference,
      port: options['inference-port'] ?? settings.inference.port,
    },
    mcp: { ...settings.mcp, port: options['mcp-port'] ?? settings.mcp.port },
    server: {
      ...settings.server,
      host: options.host ?? host,
      port: options.port ?? port,
      metricsPort: options['metrics-port'] ?? metricsPort,
    },
  };
}
