/** Knows the command that makes credentials for a deployment on a database of its own. */
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createApp } from '../app.ts';
import { systemClock } from '../clock.ts';
import { type Ending, Failure } from '../failure.ts';
import { createLog } from '../log.ts';
import { readSettings, type Settings } from '../settings.ts';
import { bootstrapTenant, type Tenant } from '../store/bootstrap.ts';
import type { Command, CommandIo } from './shared/command.ts';
import { createCredentialsFile, credentialsText } from './shared/credentials-file.ts';
import { assertMigrated, resolveDatabase } from './shared/database.ts';
import { ensureMasterKey } from './up/up-home.ts';

interface Options {
  'tsg-id': string | undefined;
  name: string;
  output: string;
  url: string | undefined;
  home: string | undefined;
}

export const bootstrap: Command<Options> = {
  usage: 'bootstrap',
  summary: 'Make a superuser service account and an organisation API key',
  examples: [
    ['gatewright bootstrap', 'Write credentials.json for a new tenant'],
    [
      'gatewright bootstrap --tsg-id 1234567890 --name ci --url https://gw.example.com',
      'A second service account, ci, for a tenant that exists',
    ],
    ['gatewright bootstrap --output -', 'Print the credentials, for a secret store'],
  ],
  options: (yargs) =>
    yargs
      .option('tsg-id', {
        type: 'string',
        describe: 'Tenant service group, 10 digits; a new one when left out',
      })
      .option('name', {
        type: 'string',
        default: 'gatewright',
        describe: 'Name of the service account and its key',
      })
      .option('output', {
        type: 'string',
        default: 'credentials.json',
        describe: 'New file for the credentials (mode 0600), or - to print them',
      })
      .option('url', {
        type: 'string',
        describe: 'Where clients reach the server; this machine when left out',
      })
      .option('home', { type: 'string', describe: 'Folder of `gatewright up`' }),
  run: async (options, io) => {
    const settings = readSettings(undefined, { cwd: io.cwd });
    const home = resolve(io.cwd, options.home ?? settings.home);
    const database = await resolveDatabase(settings, home);
    const url = readUrl(options.url ?? `http://127.0.0.1:${settings.server.port}`);
    await assertMigrated(database);
    const masterKey =
      settings.masterKey ?? (settings.database === null ? ensureMasterKey(home) : null);
    const complete = { ...settings, database, masterKey };
    if (options.output !== '-') return writeTenant(complete, options, url, io);
    const tenant = await makeTenant(complete, options, io);
    io.stdout.writeExact(credentialsText(url, tenant));
    return 'success';
  },
};

async function writeTenant(
  settings: Settings,
  options: Options,
  url: string,
  io: CommandIo,
): Promise<Ending> {
  const path = resolve(io.cwd, options.output);
  await using file = await createCredentialsFile(path);
  try {
    const tenant = await makeTenant(settings, options, io);
    await file.write(credentialsText(url, tenant));
    io.stdout.write(`service account ${tenant.clientId}\ncredentials in ${path}\n`);
    return 'success';
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

async function makeTenant(
  settings: Settings,
  options: Options,
  { stderr }: CommandIo,
): Promise<Tenant> {
  const log = createLog({ level: settings.logLevel ?? 'warn', destination: stderr });
  await using app = await createApp(settings, { log });
  return await bootstrapTenant(app.database, {
    keyring: app.keyring,
    tsgId: options['tsg-id'],
    name: options.name,
    apiKeyPrefix: settings.apiKeyPrefix,
    now: systemClock.now(),
    auditLogs: settings.features.auditLogs,
  });
}

function readUrl(text: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search === '') {
    return url.origin;
  }
  throw new Failure(
    'invalidInput',
    `--url ${text} is not the address of a server; it has the form https://gateway.example.com`,
  );
}
