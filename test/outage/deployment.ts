/** Starts a deployment of real processes: a control plane that builds the snapshot, and gateways with folders and database links of their own. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { DatabaseSettings } from '../../src/settings.ts';
import { listGenerations } from '../../src/store/rows/snapshot-marks.ts';
import { readTrustedHosts } from '../../src/trusted-hosts.ts';
import {
  type GatewayProcess,
  newMasterKeys,
  startGatewayProcess,
} from '../gate/gateway-processes.ts';
import { type Journal, startJournal } from '../gate/journal.ts';
import { type DatabaseLink, startDatabaseLink } from '../support/database/database-link.ts';
import { eventually } from '../support/server/eventually.ts';
import { startTestServer, type TestServer } from '../support/server/server.ts';
import { readSavedSnapshot, type SavedSnapshot } from './saved-snapshot.ts';

export interface DeploymentOptions {
  /** Hosts beside the journal that configs may name. */
  readonly hosts?: readonly string[];
  /** Further settings of all processes. */
  readonly variables?: Readonly<Record<string, string>>;
  /** One in this many connections to the provider is lost; none by default. */
  readonly lostEvery?: number;
  /** Database of all processes; that of the tests by default. */
  readonly between?: (real: DatabaseSettings) => Promise<DatabaseSettings>;
}

export interface GatewayOptions {
  /** Folder of its snapshot; by default one of its own. */
  readonly snapshotDirectory?: string;
  readonly spoolDirectory?: string;
  readonly variables?: Readonly<Record<string, string>>;
  readonly clockOffMs?: number;
  /** Whether it also relays MCP. */
  readonly relaysMcp?: boolean;
}

/** The place of a gateway: its folders and its link outlive its processes. */
export class GatewayPlace implements AsyncDisposable {
  readonly link: DatabaseLink;
  readonly snapshotDirectory: string;
  readonly spoolDirectory: string;
  /** Null while none runs. */
  process: GatewayProcess | null = null;
  readonly #start: () => Promise<GatewayProcess>;
  readonly #read: (folder: string) => Promise<SavedSnapshot>;

  constructor(
    parts: Pick<GatewayPlace, 'link' | 'snapshotDirectory' | 'spoolDirectory'>,
    start: () => Promise<GatewayProcess>,
    read: (folder: string) => Promise<SavedSnapshot>,
  ) {
    this.link = parts.link;
    this.snapshotDirectory = parts.snapshotDirectory;
    this.spoolDirectory = parts.spoolDirectory;
    this.#start = start;
    this.#read = read;
  }

  get url(): string {
    return this.process!.inferenceUrl;
  }

  /** Resolves once it listens. */
  async start(): Promise<GatewayProcess> {
    this.process = await this.#start();
    return this.process;
  }

  async kill(): Promise<void> {
    const dying = this.process;
    this.process = null;
    await dying?.kill();
  }

  /** Stops it in order. */
  async stop(): Promise<void> {
    const stopping = this.process;
    this.process = null;
    await stopping?.[Symbol.asyncDispose]();
  }

  /** The snapshot on its disk. */
  savedSnapshot(): Promise<SavedSnapshot> {
    return this.#read(this.snapshotDirectory);
  }

  /** Value of a metric without labels; null when it does not show it. */
  async metric(name: string): Promise<number | null> {
    const text = await (await fetch(`${this.process!.metricsUrl}/metrics`)).text();
    const found = new RegExp(`^${name} (\\S+)$`, 'm').exec(text);
    return found && Number(found[1]);
  }

  async ready(): Promise<{ readonly status: number; readonly text: string }> {
    const response = await fetch(`${this.process!.metricsUrl}/readyz`);
    return { status: response.status, text: await response.text() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A process may wait for a database that is away.
    await this.kill();
    await this.link[Symbol.asyncDispose]();
  }
}

export class Deployment implements AsyncDisposable {
  readonly server: TestServer;
  readonly journal: Journal;
  /** Folder of all folders. */
  readonly folder: string;
  /** Process with the Admin API and the jobs, which builds the snapshot; null while none runs. */
  control: GatewayProcess | null = null;
  readonly #options: DeploymentOptions;
  readonly #stack: AsyncDisposableStack;
  #places = 0;

  constructor(
    parts: Pick<Deployment, 'server' | 'journal' | 'folder'>,
    options: DeploymentOptions,
    stack: AsyncDisposableStack,
  ) {
    this.server = parts.server;
    this.journal = parts.journal;
    this.folder = parts.folder;
    this.#options = options;
    this.#stack = stack;
  }

  /** Calls the Admin API, which has a connection to the database that no fault concerns. */
  async admin(method: string, path: string, body?: object): Promise<ReturnType<typeof JSON.parse>> {
    this.server.clock.set(Date.now());
    const made = await this.server.request(method, path, body === undefined ? {} : { body });
    if (made.status !== 200) throw new Error(`${path}: ${JSON.stringify(made.body)}`);
    return made.body;
  }

  async addKey(more: object = {}): Promise<{ readonly key: string; readonly id: string }> {
    const body = { name: 'caller', scopes: ['completions.write'], ...more };
    return this.admin('POST', '/v1/api-keys/organisation/service', body);
  }

  /** Adds a config that leads to the journal, or to another provider, with a sealed key, and returns its slug. */
  async addConfig(more: object = {}, url = this.journal.url): Promise<string> {
    const target = { provider: 'mock-upstream', custom_host: url };
    const config = { ...target, api_key: 'sk-sealed', ...more };
    const { data } = await this.admin('POST', '/v1/configs', { name: 'served', config });
    return data.slug;
  }

  async startControl(): Promise<void> {
    const folder = join(this.folder, 'control');
    mkdirSync(join(folder, 'spool'), { recursive: true });
    this.control = await this.#start(this.server.settings.database!, {
      snapshotDirectory: join(folder, 'snapshot'),
      spoolDirectory: join(folder, 'spool'),
      components: 'admin,jobs',
    });
  }

  async killControl(): Promise<void> {
    const dying = this.control;
    this.control = null;
    await dying?.kill();
  }

  /** A place for a gateway, which is not started. */
  async addPlace(options: GatewayOptions = {}): Promise<GatewayPlace> {
    const folder = join(this.folder, `gateway-${this.#places}`);
    this.#places += 1;
    mkdirSync(join(folder, 'spool'), { recursive: true });
    const link = await startDatabaseLink();
    const database = await link.leadHasty(this.server.settings.database!);
    const parts = {
      link,
      snapshotDirectory: options.snapshotDirectory ?? join(folder, 'snapshot'),
      spoolDirectory: options.spoolDirectory ?? join(folder, 'spool'),
    };
    const { relaysMcp = false } = options;
    const terms = { ...options, ...parts, ...(relaysMcp && { mcpPort: 0 }) };
    const start = () => this.#start(database, terms);
    return this.#stack.use(new GatewayPlace(parts, start, (one) => this.readSnapshot(one)));
  }

  /** Starts a gateway in a new place. */
  async addGateway(options: GatewayOptions = {}): Promise<GatewayPlace> {
    const place = await this.addPlace(options);
    await place.start();
    return place;
  }

  /** Resolves once the snapshots on the disks of these gateways contain every change, and say so. */
  async awaitSaved(...places: readonly Pick<GatewayPlace, 'savedSnapshot'>[]): Promise<void> {
    const { organisationId, database } = this.server;
    for (const place of places) {
      await eventually(async () => {
        const generations = await listGenerations(database.db, [organisationId]);
        const saved = await place.savedSnapshot();
        expect([saved.wasCurrent, saved.generation]).toEqual([
          true,
          generations.get(organisationId),
        ]);
      });
    }
  }

  readSnapshot(folder: string): Promise<SavedSnapshot> {
    return readSavedSnapshot(folder, this.server);
  }

  #start(
    database: DatabaseSettings,
    { variables, ...options }: GatewayOptions & { readonly components?: string },
  ): Promise<GatewayProcess> {
    return startGatewayProcess({
      settings: { ...this.server.settings, database },
      trusted: [this.journal.host, ...(this.#options.hosts ?? [])].join(','),
      variables: { ...this.#options.variables, ...variables },
      ...options,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.killControl();
    await this.#stack.disposeAsync();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Starts everything but gateways. */
export async function startDeployment(options: DeploymentOptions = {}): Promise<Deployment> {
  await using stack = new AsyncDisposableStack();
  const { hosts = [], lostEvery = Number.POSITIVE_INFINITY, between } = options;
  const journal = stack.use(await startJournal({ lostEvery }));
  const trusted = readTrustedHosts([journal.host, ...hosts].join(','));
  const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];
  const settings = { trustedHosts, masterKeys: newMasterKeys() };
  const server = stack.use(
    await startTestServer({
      settings,
      components: ['admin', 'mcp'],
      ...(between && { between }),
    }),
  );
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-outage-'));
  const deployment = new Deployment({ server, journal, folder }, options, stack.move());
  await deployment.startControl();
  return deployment;
}
