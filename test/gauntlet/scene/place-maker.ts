/** Makes the places of gateways, control planes and the daemon, which are not started. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSettings } from '../../../src/settings.ts';
import { startDatabaseLink } from '../../support/database/database-link.ts';
import { findFreePort } from '../../support/database/database-server.ts';
import { databaseVariables } from '../../support/database/database-variables.ts';
import { Place, type PlaceRole } from './place.ts';
import type { PrivateNetwork } from './private-network.ts';
import { ShimState } from './shim-state.ts';
import type { TenantCredentials } from './tenant.ts';

interface MakerOptions {
  readonly folder: string;
  readonly program: string;
  readonly database: DatabaseSettings;
  /** Settings of every server. */
  readonly variables: Readonly<Record<string, string>>;
  /** Names that lead to this machine. */
  readonly hosts: readonly string[];
  /** Settings of mail. */
  readonly mail: Readonly<Record<string, string>>;
  readonly logFolder: string;
}

interface Surroundings {
  /** Folder for its spool and snapshot; its own folder when null. */
  readonly disk: string | null;
  /** Network in which it runs; that of this machine when null. */
  readonly network: PrivateNetwork | null;
}

interface DaemonOptions {
  readonly credentials: TenantCredentials;
  /** Address of the control planes. */
  readonly url: string;
  readonly source: string;
  readonly caFile: string;
}

export class PlaceMaker {
  readonly #options: MakerOptions;

  constructor(options: MakerOptions) {
    this.#options = options;
  }

  addGateway(name: string, around: Surroundings): Promise<Place> {
    return this.#addServer(name, 'gateway', 'gateway,mcp', {}, around);
  }

  addControl(name: string): Promise<Place> {
    return this.#addServer(name, 'control', 'admin,jobs', {
      GATEWRIGHT_CONSOLE_ENABLED: 'ON',
      ...this.#options.mail,
    });
  }

  async addDaemon(name: string, options: DaemonOptions): Promise<Place> {
    const folder = this.#makeFolder(name);
    const { credentials, url, source, caFile } = options;
    const addresses = { baseUrl: `${url}/v1`, adminBaseUrl: url, authUrl: url };
    writeFileSync(
      join(folder, 'credentials.json'),
      JSON.stringify({ ...credentials, ...addresses }),
    );
    const port = await findFreePort();
    const words = ['sync', source, '--interval', '1s', '--port', String(port), '-o', 'json'];
    const parts = {
      ...this.#commonParts(name, folder, null),
      role: 'daemon' as const,
      link: null,
      spoolPath: '',
      url: '',
      mcpUrl: '',
      metricsUrl: `http://127.0.0.1:${port}`,
      words,
      variables: {
        GATEWRIGHT_CREDENTIALS: 'credentials.json',
        GATEWRIGHT_GIT_CA_FILE: caFile,
      },
    };
    return new Place(parts, this.#options.program);
  }

  async #addServer(
    name: string,
    role: PlaceRole,
    components: string,
    more: Readonly<Record<string, string>>,
    { disk, network }: Surroundings = { disk: null, network: null },
  ): Promise<Place> {
    const folder = this.#makeFolder(name);
    const spool = join(disk ?? folder, 'spool');
    mkdirSync(spool);
    const link = await startDatabaseLink();
    const led = await link.leadHasty(this.#options.database);
    await network?.expose(led.port);
    const database = { ...led, host: network?.hostAddress ?? led.host };
    const host = network?.guestAddress ?? '127.0.0.1';
    const [port, inference, mcp, metrics] = await findPorts();
    const words = ['serve', '--components', components];
    const parts = {
      ...this.#commonParts(name, folder, network),
      role,
      link,
      spoolPath: spool,
      url: `http://${host}:${role === 'gateway' ? inference : port}`,
      mcpUrl: `http://${host}:${mcp}`,
      metricsUrl: `http://${host}:${metrics}`,
      words,
      variables: {
        ...databaseVariables({ ...database, poolWaitSeconds }),
        ...this.#options.variables,
        GATEWRIGHT_HOST: host,
        PORT: port,
        GATEWRIGHT_INFERENCE_PORT: inference,
        GATEWRIGHT_MCP_PORT: mcp,
        GATEWRIGHT_METRICS_PORT: metrics,
        GATEWRIGHT_LAME_DUCK_SECONDS: '0',
        // Charges of streams that break off stay within the reservation (docs/explanation/limits.md, Aborted streams).
        GATEWRIGHT_ABORTED_STREAM_CHARGE: 'reserved',
        GATEWRIGHT_SPOOL_DIRECTORY: spool,
        GATEWRIGHT_SNAPSHOT_DIRECTORY: join(disk ?? folder, 'snapshot'),
        ...more,
      },
    };
    return new Place(parts, this.#options.program);
  }

  #makeFolder(name: string): string {
    const folder = join(this.#options.folder, name);
    mkdirSync(folder);
    return folder;
  }

  #commonParts(name: string, folder: string, network: PrivateNetwork | null) {
    const { logFolder, hosts } = this.#options;
    const address = network?.hostAddress ?? '127.0.0.1';
    const addresses = Object.fromEntries(hosts.map((host) => [host, address]));
    return {
      name,
      folder,
      shim: new ShimState(join(folder, 'shim.json'), addresses),
      launcher: network?.launcher ?? [],
      logPath: join(logFolder, `${name}.log`),
    };
  }
}

/** Seconds that a request waits for a connection at most. */
const poolWaitSeconds = 5;

async function findPorts(): Promise<[string, string, string, string]> {
  const ports = [];
  for (let at = 0; at < 4; at += 1) ports.push(String(await findFreePort()));
  return ports as [string, string, string, string];
}
