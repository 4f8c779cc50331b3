/** Starts everything that a gauntlet needs, each part in a process of its own. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openDatabase } from '../../../src/store/connection/db.ts';
import { databaseVariables } from '../../support/database/database-variables.ts';
import { mountSmallDisk, unmountSmallDisk } from '../../support/database/small-disk.ts';
import { buildProgram } from '../../support/run/built-program.ts';
import type { MailboxOrder } from '../witnesses/mailbox.ts';
import type { ProviderOrder } from '../witnesses/provider.ts';
import type { ToolServerOrder } from '../witnesses/tool-server.ts';
import { type GauntletDatabase, openGauntletDatabase } from './database.ts';
import { type Front, startFront } from './front.ts';
import { openGitHost, type ServedRepository } from './git-host.ts';
import { makeNextRelease, type NextRelease } from './next-release.ts';
import type { Place } from './place.ts';
import { PlaceMaker } from './place-maker.ts';
import { openPrivateNetwork, type PrivateNetwork } from './private-network.ts';
import { requireCommand } from './run-command.ts';
import { type SecureProvider, startSecureProvider } from './secure-provider.ts';
import { Tenant, type TenantCredentials } from './tenant.ts';
import { startWitness, type Witness } from './witness.ts';

export interface Scene extends AsyncDisposable {
  /** Folder of everything that is written, deleted at the end. */
  readonly folder: string;
  /** Folder with the log of each process of the product. */
  readonly logFolder: string;
  readonly database: GauntletDatabase;
  /** Connections that no fault concerns but those of the server itself. */
  readonly witnessDatabase: Database;
  readonly gateways: readonly Place[];
  readonly controls: readonly Place[];
  readonly daemon: Place;
  /** Follows the same repository as the same owner; runs only while a fault starts it. */
  readonly secondDaemon: Place;
  readonly front: Front;
  readonly provider: Witness<ProviderOrder>;
  /** The provider, reached by TLS. */
  readonly secureProvider: SecureProvider;
  readonly toolServer: Witness<ToolServerOrder>;
  readonly mailbox: Witness<MailboxOrder>;
  readonly gitHost: Witness<never>;
  readonly repository: ServedRepository;
  /** Two organisations, which must never see each other's data. */
  readonly tenants: readonly [Tenant, Tenant];
  /** Environment of commands that use the database directly. */
  readonly variables: Readonly<Record<string, string>>;
  /** `main.js` of this release. */
  readonly program: string;
  readonly nextRelease: NextRelease;
  /** Disk of the last gateway; null where none can be mounted. */
  readonly smallDisk: { readonly path: string; readonly place: Place } | null;
  /** Gateway in a network of its own; null where none can be created. */
  readonly separable: { readonly network: PrivateNetwork; readonly place: Place } | null;
  /** Secrets that no output may contain. */
  readonly canaries: readonly string[];
}

/** The gateways find the provider and the MCP server by these names. */
export const providerHost = 'provider.gauntlet.test';
export const toolHost = 'tools.gauntlet.test';
const controlCount = 2;
const smallDiskMegabytes = 64;

/** `logs` is a folder for the logs of all processes, which stays; null for one that is deleted. */
export async function startScene(databaseOption: string, logs: string | null): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-gauntlet-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const logFolder = logs ?? join(folder, 'logs');
  mkdirSync(logFolder, { recursive: true });
  const database = stack.use(await openGauntletDatabase(databaseOption));
  const built = stack.use(await buildProgram());
  const { path: program } = built;
  const nextRelease = stack.use(makeNextRelease(built));
  const provider = stack.use(await startWitness<ProviderOrder>('provider', folder));
  const secureProvider = stack.use(await startSecureProvider(provider.port, providerHost));
  const toolServer = stack.use(await startWitness<ToolServerOrder>('tool-server', folder));
  const mailbox = stack.use(await startWitness<MailboxOrder>('mailbox', folder));
  const { witness: gitHost, repository, caFile } = await openGitHost(folder);
  stack.use(gitHost);
  const masterKey = randomBytes(32).toString('base64');
  const mail = mailVariables(mailbox.port);
  const variables = {
    ...databaseVariables(database.settings),
    ...mail,
    GATEWRIGHT_MASTER_KEY: masterKey,
  };
  await requireCommand([program, 'migrate'], variables);
  const credentials = [
    await bootstrap(program, variables, 'first'),
    await bootstrap(program, variables, 'second'),
  ] as const;
  const maker = new PlaceMaker({
    folder,
    program,
    database: database.settings,
    variables: {
      GATEWRIGHT_MASTER_KEY: masterKey,
      TRUSTED_CUSTOM_HOSTS: [
        `${providerHost}:${provider.port}`,
        `${providerHost}:${secureProvider.port}`,
        `${toolHost}:${toolServer.port}`,
      ].join(','),
      NODE_EXTRA_CA_CERTS: secureProvider.caFile,
    },
    hosts: [providerHost, toolHost],
    mail,
    logFolder,
  });
  const controls: Place[] = [];
  for (let at = 0; at < controlCount; at += 1) {
    controls.push(stack.use(await maker.addControl(`control-${at}`)));
  }
  await Promise.all(controls.map((place) => place.start()));
  const front = stack.use(await startFront(controls));
  const diskPath = mountSmallDisk(smallDiskMegabytes);
  if (diskPath !== null) stack.defer(() => unmountSmallDisk(diskPath));
  const network = openPrivateNetwork();
  if (network !== null) stack.use(network);
  for (const { port } of [provider, secureProvider, toolServer]) await network?.expose(port);
  const surroundings = [
    { disk: null, network: null },
    { disk: null, network },
    { disk: diskPath, network: null },
  ];
  const gateways: Place[] = [];
  for (const [at, around] of surroundings.entries()) {
    gateways.push(stack.use(await maker.addGateway(`gateway-${at}`, around)));
  }
  await Promise.all(gateways.map((place) => place.start()));
  const daemonOptions = {
    credentials: credentials[0],
    url: front.url,
    source: `${repository.url}#main`,
    caFile,
  };
  const daemon = stack.use(await maker.addDaemon('daemon', daemonOptions));
  const secondDaemon = stack.use(await maker.addDaemon('daemon-1', daemonOptions));
  const witnessDatabase = stack.use(openDatabase(database.settings));
  const release = stack.move();
  return {
    folder,
    logFolder,
    database,
    witnessDatabase,
    gateways,
    controls,
    daemon,
    secondDaemon,
    front,
    provider,
    secureProvider,
    toolServer,
    mailbox,
    gitHost,
    repository,
    tenants: [new Tenant(credentials[0], front.url), new Tenant(credentials[1], front.url)],
    variables,
    program,
    nextRelease,
    smallDisk: diskPath === null ? null : { path: diskPath, place: gateways[2]! },
    separable: network === null ? null : { network, place: gateways[1]! },
    canaries: [
      masterKey,
      ...credentials.flatMap((one) => [one.clientSecret, one.organisationApiKey]),
    ],
    [Symbol.asyncDispose]: () => release.disposeAsync(),
  };
}

async function bootstrap(
  program: string,
  variables: Readonly<Record<string, string>>,
  name: string,
): Promise<TenantCredentials> {
  const words = [program, 'bootstrap', '--name', name, '--file', '-'];
  return JSON.parse(await requireCommand(words, variables)) as TenantCredentials;
}

function mailVariables(port: number): Record<string, string> {
  return {
    SMTP_MAIL: 'ON',
    SMTP_HOST: '127.0.0.1',
    SMTP_PORT: String(port),
    SMTP_FROM: 'gauntlet@example.com',
    GATEWRIGHT_SMTP_TLS: 'none',
  };
}
