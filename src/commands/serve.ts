/** Knows the command that serves the Admin API until it is told to stop. */
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createApp, missingMasterKey } from '../app.ts';
import { createLog } from '../log.ts';
import { readSettings, type Settings } from '../settings.ts';
import { migrate } from '../store/migrations/migrate.ts';
import type { Command } from './shared/command.ts';
import { assertMigrated, resolveDatabase } from './shared/database.ts';
import { keepHeapSmall } from './shared/heap.ts';

interface Options {
  host: string | undefined;
  port: number | undefined;
  'metrics-port': number | undefined;
  jobs: boolean;
  migrate: boolean;
  home: string | undefined;
}

export const serve: Command<Options> = {
  usage: 'serve',
  summary: 'Serve the Admin API on the database of the settings',
  examples: [
    ['gatewright serve', 'Listen where PORT and GATEWRIGHT_HOST say'],
    ['gatewright serve --migrate', 'Bring the database to this version first'],
    ['gatewright serve --port 0 --no-jobs', 'Take a free port; leave the jobs to other replicas'],
  ],
  options: (yargs) =>
    yargs
      .option('host', { type: 'string', describe: 'Address to listen on (GATEWRIGHT_HOST)' })
      .option('port', { type: 'number', describe: 'Port of the Admin API (PORT); 0: a free one' })
      .option('metrics-port', {
        type: 'number',
        describe: 'Port of the Prometheus metrics (GATEWRIGHT_METRICS_PORT); 0: a free one',
      })
      .option('jobs', { type: 'boolean', default: true, describe: 'Run the scheduled jobs' })
      .option('migrate', {
        type: 'boolean',
        default: false,
        describe: 'Run missing migrations first; without it a database that is behind is refused',
      })
      .option('home', { type: 'string', describe: 'Folder of `gatewright up`' })
      .check(({ port, 'metrics-port': metricsPort }) => {
        for (const given of [port, metricsPort]) {
          const isPort =
            given === undefined || (Number.isInteger(given) && given >= 0 && given < 65536);
          if (!isPort) throw new Error('a port is a whole number from 0 to 65535');
        }
        return true;
      }),
  run: async (options, io) => {
    const settings = withOptions(readSettings(undefined, { cwd: io.cwd }), options);
    if (settings.masterKey === null) throw missingMasterKey();
    const log = createLog({ level: settings.logLevel ?? 'info', destination: io.stderr });
    for (const warning of settings.warnings) log.warn(warning);
    const home = resolve(io.cwd, options.home ?? settings.home);
    const database = await resolveDatabase(settings, home);
    if (options.migrate) await migrate(database, { log, signal: io.signal });
    else await assertMigrated(database);
    keepHeapSmall();
    const app = await createApp({ ...settings, database }, { log, startJobs: options.jobs });
    try {
      log.info(await app.listen(), 'listening');
      if (!io.signal.aborted) await once(io.signal, 'abort');
      log.info('stopping');
    } finally {
      await app[Symbol.asyncDispose]();
    }
    log.info('stopped');
    return 'success';
  },
};

function withOptions(settings: Settings, options: Options): Settings {
  const { host, port, metricsPort } = settings.server;
  return {
    ...settings,
    server: {
      ...settings.server,
      host: options.host ?? host,
      port: options.port ?? port,
      metricsPort: options['metrics-port'] ?? metricsPort,
    },
  };
}
