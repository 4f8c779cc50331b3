/** Starts a control plane, and gateways and regions that are linked to it by mutual TLS. */
import { type App, openApp } from '../../../src/app.ts';
import { createLog } from '../../../src/log.ts';
import { Secret } from '../../../src/secret.ts';
import type { LinkCertificates } from '../../../src/settings/groups/control-link.ts';
import type { Settings } from '../../../src/settings.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { createPki, type IssuedCertificate } from '../callers/pki.ts';
import { createTestDatabase, type TestDatabase } from '../database/database.ts';
import { type DatabaseLink, startDatabaseLink } from '../database/database-link.ts';
import { exchange, type TestResponse } from '../network/exchange.ts';
import { eventually } from '../server/eventually.ts';
import { startTestServer, type TestServer } from '../server/server.ts';
import { startUpstream, type TestUpstream } from '../upstream/upstream.ts';

const clientName = 'gatewright-data-plane';

export interface LinkedGateway extends AsyncDisposable {
  readonly app: App;
  readonly inferenceUrl: string;
  readonly mcpUrl: string;
  readonly metricsUrl: string;
  /** Where further gateways connect, to a gateway of a region. */
  readonly linkUrl: string | null;
  readonly logLines: readonly string[];
  ready(): Promise<TestResponse>;
}

/** A gateway that listens, and connects when the test says so. */
interface OpenedGateway extends LinkedGateway {
  /** Connects like `serve`, which serves from what answers and tries again for the rest. */
  connect(): Promise<void>;
}

export interface TestRegion {
  readonly gateway: LinkedGateway;
  /** Starts a further gateway that has the region's database. */
  startGateway(): Promise<LinkedGateway>;
  /** Starts a gateway without a database, which is linked to the region. */
  startLinked(): Promise<LinkedGateway>;
  readonly database: TestDatabase;
  /** Between the region and its home. */
  readonly link: Pick<DatabaseLink, 'cut' | 'freeze' | 'mend'>;
  /** Between the gateways of the region and its database. */
  readonly databaseLink: Pick<DatabaseLink, 'cut' | 'mend'>;
  /** Opens a gateway of the region that is not connected to anything yet. */
  openGateway(): Promise<OpenedGateway>;
}

export interface LinkedPlanes extends AsyncDisposable {
  readonly upstream: TestUpstream;
  readonly control: TestServer;
  /** Starts a gateway; `settings` are beside those of the link. */
  startGateway(settings?: Partial<Settings>): Promise<LinkedGateway>;
  /** Starts a region with one gateway, at which others can connect. */
  startRegion(name: string): Promise<TestRegion>;
}

const certificatesOf = (ca: string, { cert, key }: IssuedCertificate): LinkCertificates => ({
  ca,
  cert,
  key: new Secret(key, 'test'),
});

/** The settings of both sides of a link, with certificates of an authority of its own. */
export interface LinkSides extends Disposable {
  readonly control: Pick<Settings, 'controlLink'>;
  /** `control` is the started control plane. */
  gateway(control: Pick<TestServer, 'settings' | 'linkUrl'>): Settings;
}

export function createLinkSides(): LinkSides {
  const pki = createPki();
  const authority = pki.authority('link');
  const server = authority.issue({ name: 'control', altNames: 'IP:127.0.0.1' });
  const client = authority.issue({
    name: 'gateway',
    altNames: `DNS:${clientName},IP:127.0.0.1`,
  });
  return {
    control: {
      controlLink: {
        listener: { port: 0, clientNames: [clientName] },
        url: null,
        region: null,
        readCertificates: () => certificatesOf(authority.cert, server),
      },
    },
    gateway: ({ settings, linkUrl }) => ({
      ...settings,
      database: null,
      controlLink: {
        listener: null,
        url: new URL(linkUrl!),
        region: null,
        readCertificates: () => certificatesOf(authority.cert, client),
      },
    }),
    [Symbol.dispose]: () => pki[Symbol.dispose](),
  };
}

export async function startLinkedPlanes(): Promise<LinkedPlanes> {
  await using parts = new AsyncDisposableStack();
  const sides = parts.use(createLinkSides());
  const upstream = parts.use(await startUpstream());
  const trusted = readTrustedHosts(upstream.host);
  const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];
  const control = parts.use(
    await startTestServer({
      components: ['admin', 'gateway', 'jobs'],
      readSharedTime: async () => Date.now(),
      settings: { trustedHosts, ...sides.control },
    }),
  );
  const gatewaySettings = sides.gateway(control);
  const started = parts.move();
  const startOne = async (settings: Partial<Settings> = {}): Promise<LinkedGateway> =>
    started.use(await startLinkedGateway({ ...gatewaySettings, ...settings }));
  return {
    upstream,
    control,
    startGateway: startOne,
    startRegion: async (name) => {
      // The rows that counters and logs belong to are at home.
      const database = started.use(await createTestDatabase({ breaksRules: true }));
      const link = started.use(await startDatabaseLink());
      const databaseLink = started.use(await startDatabaseLink());
      const ownDatabase = await databaseLink.lead(database.settings);
      const { controlLink } = gatewaySettings;
      const { hostname: host, port } = controlLink.url!;
      const led = await link.lead({ ...database.settings, host, port: Number(port) });
      const listener = { port: 0, clientNames: [clientName] };
      const url = new URL(`https://127.0.0.1:${led.port}`);
      const ofRegion = { ...controlLink, region: name, url, listener };
      const ofEach = { database: ownDatabase, controlLink: ofRegion };
      const startInRegion = () => startOne(ofEach);
      const gateway = await startInRegion();
      return {
        gateway,
        database,
        link,
        databaseLink,
        openGateway: async () =>
          started.use(await openLinkedGateway({ ...gatewaySettings, ...ofEach })),
        startGateway: startInRegion,
        startLinked: () =>
          startOne({ controlLink: { ...controlLink, url: new URL(gateway.linkUrl!) } }),
      };
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** `more` overrides options of the process. */
export async function startLinkedGateway(
  settings: Settings,
  more: Parameters<typeof openApp>[1] = {},
): Promise<LinkedGateway> {
  const { app, gateway } = openApart(settings, more);
  await eventually(() => app.connect());
  return gateway(await app.listen());
}

async function openLinkedGateway(settings: Settings): Promise<OpenedGateway> {
  const { app, gateway } = openApart(settings, {});
  return {
    ...gateway(await app.listen()),
    connect: () =>
      app.connect().catch(async (error) => {
        await app.openFromSnapshot();
        throw error;
      }),
  };
}

function openApart(settings: Settings, more: Parameters<typeof openApp>[1]) {
  const logLines: string[] = [];
  const write = (line: string): boolean => logLines.push(line) > 0;
  const log = createLog({ level: 'debug', destination: { write } });
  const app = openApp(settings, { components: ['gateway', 'mcp'], log, ...more });
  let disposal: Promise<void> | null = null;
  const gateway = (addresses: Awaited<ReturnType<App['listen']>>): LinkedGateway => ({
    app,
    inferenceUrl: addresses.inferenceUrl!,
    mcpUrl: addresses.mcpUrl!,
    metricsUrl: addresses.metricsUrl,
    linkUrl: addresses.linkUrl,
    logLines,
    ready: () => exchange('GET', `${addresses.metricsUrl}/readyz`, undefined, {}),
    [Symbol.asyncDispose]: async () => {
      disposal ??= Promise.resolve(app[Symbol.asyncDispose]());
      await disposal;
    },
  });
  return { app, gateway };
}
