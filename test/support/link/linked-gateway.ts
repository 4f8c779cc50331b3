/** Starts a control plane and gateways without a database that are linked to it by mutual TLS. */
import { type App, openApp } from '../../../src/app.ts';
import { createLog } from '../../../src/log.ts';
import { Secret } from '../../../src/secret.ts';
import type { LinkCertificates } from '../../../src/settings/groups/control-link.ts';
import type { Settings } from '../../../src/settings.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { createPki, type IssuedCertificate } from '../callers/pki.ts';
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
  readonly logLines: readonly string[];
  ready(): Promise<TestResponse>;
}

export interface LinkedPlanes extends AsyncDisposable {
  readonly upstream: TestUpstream;
  readonly control: TestServer;
  /** Starts a gateway; `settings` are beside those of the link. */
  startGateway(settings?: Partial<Settings>): Promise<LinkedGateway>;
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
  const client = authority.issue({ name: 'gateway', altNames: `DNS:${clientName}` });
  return {
    control: {
      controlLink: {
        listener: { port: 0, clientNames: [clientName] },
        url: null,
        readCertificates: () => certificatesOf(authority.cert, server),
      },
    },
    gateway: ({ settings, linkUrl }) => ({
      ...settings,
      database: null,
      controlLink: {
        listener: null,
        url: new URL(linkUrl!),
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
  return {
    upstream,
    control,
    startGateway: async (settings = {}) => {
      const gateway = await startLinkedGateway({ ...gatewaySettings, ...settings });
      started.use(gateway);
      return gateway;
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** `more` overrides options of the process. */
export async function startLinkedGateway(
  settings: Settings,
  more: Parameters<typeof openApp>[1] = {},
): Promise<LinkedGateway> {
  const logLines: string[] = [];
  const write = (line: string): boolean => logLines.push(line) > 0;
  const log = createLog({ level: 'debug', destination: { write } });
  const app = openApp(settings, { components: ['gateway', 'mcp'], log, ...more });
  await eventually(() => app.connect());
  const { inferenceUrl, mcpUrl, metricsUrl } = await app.listen();
  let disposal: Promise<void> | null = null;
  return {
    app,
    inferenceUrl: inferenceUrl!,
    mcpUrl: mcpUrl!,
    metricsUrl,
    logLines,
    ready: () => exchange('GET', `${metricsUrl}/readyz`, undefined, {}),
    [Symbol.asyncDispose]: async () => {
      disposal ??= Promise.resolve(app[Symbol.asyncDispose]());
      await disposal;
    },
  };
}
