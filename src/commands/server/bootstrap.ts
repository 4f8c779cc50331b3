/** Defines the `bootstrap` command, which creates credentials for a deployment. */
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { z } from 'zod';
import { inferencePort } from '../../app/gateway.ts';
import { createApp } from '../../app.ts';
import { systemClock } from '../../clock.ts';
import { inspectStateFile, writeStateFile } from '../../embedded/state-file.ts';
import { type Ending, Failure } from '../../failure.ts';
import { createLog } from '../../log.ts';
import { tsgIdPattern } from '../../model/people/access-policy.ts';
import { accountNamePattern } from '../../model/people/service-account.ts';
import { type DatabaseSettings, readSettings, type Settings } from '../../settings.ts';
import { type BootstrappedAccount, bootstrapTenant, ensureAccount } from '../../store/bootstrap.ts';
import { openDatabase } from '../../store/connection/db.ts';
import * as serviceAccounts from '../../store/people/service-accounts.ts';
import { requireMigrated, resolveDatabase } from '../database/database.ts';
import { ensureHomeKeys } from '../database/home-keys.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import {
  ClientCredentials,
  Credentials,
  createCredentialsFile,
  credentialsPathOf,
  credentialsText,
} from '../shared/credentials-file.ts';
import { homeOption, outputForm, switchOption, textOption } from '../shared/option.ts';
import { type GivenOptions, shellLine } from '../shared/shell-line.ts';
import { workingCopyOf } from '../shared/working-copy.ts';

type Options = {
  'tsg-id': string | undefined;
  name: string | undefined;
  file: string | undefined;
  output: 'text' | 'json';
  url: string | undefined;
  'owner-email': string | undefined;
  derived: boolean;
  home: string | undefined;
};

const defaultName = 'gatewright';
const defaultFile = 'credentials.json';

export const bootstrap: Command<Options> = {
  examples: [
    ['gatewright bootstrap', 'Create a tenant and write credentials.json'],
    [
      'gatewright bootstrap --tsg-id 1234567890 --name ci --url https://gw.example.com',
      'Create another service account, ci, for an existing tenant',
    ],
    ['gatewright bootstrap --file -', 'Print the credentials, for a secret store'],
    [
      'gatewright bootstrap --derived --name sync --file /run/credentials.json',
      'In each replica: create the account unless it exists',
    ],
  ],
  options: {
    'tsg-id': textOption('DIGITS', {
      describe: 'Tenant service group, 10 digits',
      isValid: (given) => tsgIdPattern.test(given),
      expected: '10 digits, such as 1234567890',
      fallback: 'a new one for a new tenant; with --derived always the same',
    }),
    name: textOption('NAME', {
      describe: 'Name of the service account and its key',
      isValid: (given) => accountNamePattern.test(given),
      expected: 'a name of 1 to 63 of a-z, 0-9 and inner -, such as ci',
      fallback: defaultName,
    }),
    file: textOption('FILE', {
      describe: 'New file for the credentials (mode 0600), or - to print them',
      fallback: defaultFile,
    }),
    url: textOption('URL', {
      describe: 'Address at which clients reach the server',
      isValid: (given) => originOf(given) !== null,
      expected: 'the address of a server, such as https://gateway.example.com',
      fallback: 'this machine, at PORT',
    }),
    'owner-email': textOption('ADDRESS', {
      describe: 'E-mail address of the owner of a new tenant',
      isValid: (given) => z.email().max(254).safeParse(given).success,
      expected: 'an e-mail address, such as ann@example.com',
      fallback: 'owner@DIGITS.gatewright.internal, which receives no mail',
    }),
    derived: switchOption(
      'Derive the secret from the master key: every run gives the same; creates no API key',
    ),
    output: outputForm(['text', 'json']),
    home: homeOption,
  },
  run: async (options, io) => {
    const settings = readSettings(undefined, { cwd: io.cwd });
    const home = resolve(io.cwd, options.home ?? settings.home);
    if (options.file === undefined) assertNotCommitted(options, io.cwd);
    const database = await resolveDatabase(settings, home);
    await requireMigrated(database);
    const beside = await tenantOfUp(home, database, io);
    if (beside !== null) requireTenantChoice(beside, options, io);
    const to = addressesOf(options.url, beside, settings);
    const masterKeys =
      settings.masterKeys ??
      (settings.database === null ? await ensureHomeKeys(home, database) : null);
    const complete = { ...settings, database, masterKeys };
    if (options.file !== '-') return writeTenant(complete, options, to, io);
    const tenant = await makeAccount(complete, options, io);
    io.stdout.writeExact(credentialsText(to.url, tenant, to.inferenceUrl));
    return 'success';
  },
};

/** Addresses at which clients reach the server. */
interface Addresses {
  readonly url: string;
  /** Ends in `/v1`; undefined if unknown. */
  readonly inferenceUrl: string | undefined;
}

/** For an explicit --url the address of inference is unknown. */
function addressesOf(
  given: string | undefined,
  beside: z.infer<typeof Credentials> | null,
  settings: Settings,
): Addresses {
  if (given !== undefined) return { url: originOf(given)!, inferenceUrl: undefined };
  if (beside !== null) {
    return { url: originOf(beside.adminBaseUrl)!, inferenceUrl: beside.inferenceUrl };
  }
  const port = inferencePort(settings);
  // A free port is only known once the server listens.
  const inferenceUrl = port === 0 ? undefined : `${addressOf(port)}/v1`;
  return { url: addressOf(settings.server.port), inferenceUrl };
}

function addressOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/** The options of the command line, without defaults. */
function given({ output, ...options }: Options): GivenOptions {
  return output === 'json' ? { ...options, output } : options;
}

/** An explicit --file is not checked: its location was chosen. */
function assertNotCommitted(options: Options, cwd: string): void {
  const path = resolve(cwd, defaultFile);
  const root = workingCopyOf(path);
  if (root === null) return;
  const here = shellLine(cwd, 'bootstrap', [], { ...given(options), file: `./${defaultFile}` });
  throw new Failure(
    'refusedByGuard',
    `${path} would put credentials into the Git working tree ${root}, where they are easily committed.\n` +
      `  Write them elsewhere:    --file FILE\n  Write them here anyway:  ${here}`,
  );
}

/**
 * Returns the credentials of `gatewright up` in this home if they belong to this database; null otherwise.
 * The settings may name another database than the one that `up` uses.
 */
async function tenantOfUp(
  home: string,
  settings: DatabaseSettings,
  { stderr }: CommandIo,
): Promise<z.infer<typeof Credentials> | null> {
  const found = inspectStateFile(credentialsPathOf(home), Credentials);
  if (found === null || found.isDamaged) return null;
  const log = createLog({ level: 'error', destination: stderr });
  await using database = openDatabase(settings, { log });
  const account = await serviceAccounts.findByClientId(database.db, found.state.clientId);
  return account === undefined ? null : found.state;
}

/** `up` already has a tenant; a new one would not see its resources. */
function requireTenantChoice(
  { tsgId }: z.infer<typeof Credentials>,
  options: Options,
  io: CommandIo,
): void {
  const wanted = options['tsg-id'];
  if (wanted === tsgId) return;
  const account = { ...given(options), 'tsg-id': tsgId, name: options.name ?? 'ci' };
  const what = `the tenant of \`gatewright up\` is ${tsgId}; this would create a second one, which does not see its resources`;
  if (wanted !== undefined) {
    io.stderr.write(`${what}\n`);
    return;
  }
  throw new Failure(
    'refusedByGuard',
    `${what}.\n` +
      `  For another account of the same tenant:  ${shellLine(io.cwd, 'bootstrap', [], account)}\n` +
      '  For a second tenant, name it:            --tsg-id DIGITS',
  );
}

async function writeTenant(
  settings: Settings,
  options: Options,
  to: Addresses,
  io: CommandIo,
): Promise<Ending> {
  const path = resolve(io.cwd, options.file ?? defaultFile);
  const { tsgId, clientId } = options.derived
    ? await writeDerived(path, settings, options, to, io)
    : await writeNew(path, settings, options, to, io);
  if (options.output === 'json') io.stdout.writeJson({ tsgId, clientId, credentialsFile: path });
  else io.stdout.write(`tenant ${tsgId}\nservice account ${clientId}\ncredentials in ${path}\n`);
  return 'success';
}

async function writeNew(
  path: string,
  settings: Settings,
  options: Options,
  { url, inferenceUrl }: Addresses,
  io: CommandIo,
): Promise<BootstrappedAccount> {
  await using file = await createCredentialsFile(path);
  try {
    const tenant = await makeAccount(settings, options, io);
    await file.write(credentialsText(url, tenant, inferenceUrl));
    return tenant;
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

/** Overwrites the file of an earlier run, because the address may have changed. */
async function writeDerived(
  path: string,
  settings: Settings,
  options: Options,
  { url, inferenceUrl }: Addresses,
  io: CommandIo,
): Promise<BootstrappedAccount> {
  const account = await makeAccount(settings, options, io);
  const found = inspectStateFile(path, ClientCredentials);
  if (found !== null && (found.isDamaged || found.state.clientId !== account.clientId)) {
    throw new Failure(
      'invalidInput',
      `Cannot write ${path}: it has other content; move it away or choose another --file.`,
    );
  }
  writeStateFile(path, credentialsText(url, account, inferenceUrl));
  return account;
}

async function makeAccount(
  settings: Settings,
  options: Options,
  { stderr }: CommandIo,
): Promise<BootstrappedAccount> {
  const log = createLog({ level: settings.logLevel ?? 'warn', destination: stderr });
  await using app = await createApp(settings, { log });
  const { keyring } = app;
  const wanted = {
    keyring,
    name: options.name ?? defaultName,
    apiKeyPrefix: settings.apiKeyPrefix,
    ownerEmail: options['owner-email'],
    now: systemClock.now(),
    auditLogs: settings.features.auditLogs,
  };
  const tsgId = options['tsg-id'];
  return options.derived
    ? await ensureAccount(
        app.database,
        { ...wanted, tsgId: tsgId ?? keyring.derivedTsgId },
        keyring.deriveClientSecret,
      )
    : await bootstrapTenant(app.database, { ...wanted, tsgId });
}

/** The origin of a URL; null unless the URL is a server address without path. */
function originOf(text: string): string | null {
  const url = URL.parse(text);
  const isServer = /^https?:$/.test(url?.protocol ?? '') && url?.pathname === '/';
  return isServer && url.search === '' && url.hash === '' && url.username === ''
    ? url.origin
    : null;
}
