/** Starts a real server for a test: with its own database, over HTTP, with a settable clock. */
import type { Component } from '../../../src/app/components.ts';
import { type App, openApp } from '../../../src/app.ts';
import type { ProcessClock } from '../../../src/clock.ts';
import { createLog, type Log } from '../../../src/log.ts';
import { Secret } from '../../../src/secret.ts';
import type { MasterKeySettings } from '../../../src/settings/groups/master-keys.ts';
import { type DatabaseSettings, readSettings, type Settings } from '../../../src/settings.ts';
import { bootstrapTenant } from '../../../src/store/bootstrap.ts';
import type { Database } from '../../../src/store/connection/db.ts';
import { createTestDatabase } from '../database/database.ts';
import { exchange, type TestResponse } from '../network/exchange.ts';
import { eventually } from './eventually.ts';

interface TestClock extends ProcessClock {
  set(ms: number): void;
  advance(ms: number): void;
}

export interface TestServer extends AsyncDisposable {
  /** `http://127.0.0.1:port` of the Admin API. */
  readonly url: string;
  /** `http://127.0.0.1:port` of inference, without `/v1`. */
  readonly inferenceUrl: string;
  /** `http://127.0.0.1:port` of MCP; empty unless the component runs. */
  readonly mcpUrl: string;
  /** Address for gateways without a database; null unless they may connect. */
  readonly linkUrl: string | null;
  readonly metricsUrl: string;
  readonly tsgId: string;
  readonly organisationId: string;
  readonly organisationApiKey: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly clock: TestClock;
  readonly database: Database;
  readonly app: App;
  readonly settings: Settings;
  /** Every line that the server has logged. */
  readonly logLines: readonly string[];
  /** Returns a fresh access token of the bootstrapped superuser. */
  token(): Promise<string>;
  request(method: string, path: string, options?: TestRequest): Promise<TestResponse>;
}

interface TestRequest {
  /** Sent as JSON; a string or buffer is sent unchanged. */
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** The credential of the bootstrapped tenant; `token` by default. */
  readonly auth?: 'token' | 'key' | 'none';
}

/** 2027-01-04T08:00:00Z, a Monday. */
const startOfTests = Date.UTC(2027, 0, 4, 8);

export interface ServerOverrides {
  readonly settings?: Partial<Settings>;
  readonly log?: Log;
  /** Folder of the console, which `settings` switch on. */
  readonly consoleFolder?: string;
  /** Components that run; by default the Admin API and inference. */
  readonly components?: readonly Component[];
  /** The time that all replicas share; by default that of the test clock. */
  readonly readSharedTime?: () => Promise<number>;
  /** Places a link between the server and its database; returns the settings for the server. */
  readonly between?: (real: DatabaseSettings) => Promise<DatabaseSettings>;
  /**
   * Gives the server a reader for the time when its writer is down (HADR); returns its settings.
   */
  readonly reader?: (real: DatabaseSettings) => DatabaseSettings;
}

export async function startTestServer(overrides: ServerOverrides = {}): Promise<TestServer> {
  const testDatabase = await createTestDatabase();
  const clock = createClock(startOfTests);
  const logLines: string[] = [];
  const write = (line: string): boolean => logLines.push(line) > 0;
  const log = overrides.log ?? createLog({ level: 'debug', destination: { write } });
  const { between = async (real) => real, reader } = overrides;
  const settings = {
    ...testSettings(),
    database: await between(testDatabase.settings),
    ...(reader && { databaseReader: reader(testDatabase.settings), writerHadr: true }),
    ...overrides.settings,
  };
  const app = openApp(settings, {
    clock,
    readSharedTime: overrides.readSharedTime ?? (async () => clock.now()),
    log,
    components: overrides.components ?? ['admin', 'gateway'],
    ...(overrides.consoleFolder && { consoleFolder: overrides.consoleFolder }),
  });
  // With a reader, a writer that does not respond in time counts as down, which may happen on a
  // busy machine.
  const done = reader === undefined ? <T>(work: () => Promise<T>) => work() : eventually;
  await done(() => app.connect());
  const tenant = await done(() =>
    bootstrapTenant(app.database, {
      keyring: app.keyring,
      name: 'test',
      apiKeyPrefix: '',
      now: clock.now(),
    }),
  );
  const { adminUrl, inferenceUrl, mcpUrl, linkUrl, metricsUrl } = await app.listen();
  const url = adminUrl!;
  const clientSecret = tenant.clientSecret.reveal();
  const organisationApiKey = tenant.organisationApiKey.reveal();
  const token = (): Promise<string> => fetchToken(url, { ...tenant, clientSecret });
  const tokens = new Map<number, Promise<string>>();
  const currentToken = (): Promise<string> => {
    const at = clock.now();
    if (!tokens.has(at)) tokens.set(at, token());
    return tokens.get(at)!;
  };
  return {
    inferenceUrl: inferenceUrl!,
    mcpUrl: mcpUrl ?? '',
    linkUrl,
    url,
    metricsUrl,
    clock,
    app,
    settings,
    logLines,
    token,
    clientSecret,
    organisationApiKey,
    tsgId: tenant.tsgId,
    organisationId: tenant.organisationId,
    clientId: tenant.clientId,
    database: app.database,
    request: async (method, path, { body, headers = {}, auth = 'token' } = {}) =>
      exchange(method, url + path, body, {
        ...(auth === 'token' ? { authorization: `Bearer ${await currentToken()}` } : {}),
        ...(auth === 'key' ? { 'x-gateway-api-key': organisationApiKey } : {}),
        ...headers,
      }),
    [Symbol.asyncDispose]: async () => {
      await app[Symbol.asyncDispose]();
      await testDatabase[Symbol.asyncDispose]();
    },
  };
}

/** Settings of a deployment with defaults only. */
export function testSettings(): Settings {
  const settings = readSettings(
    { PORT: '0', GATEWRIGHT_METRICS_PORT: '0' },
    { cwd: '/nonexistent' },
  );
  return {
    ...settings,
    server: { ...settings.server, host: '127.0.0.1', lameDuckSeconds: 0, drainSeconds: 5 },
    masterKeys: masterKeysOf(7),
  };
}

/** Master keys of one byte each, the current one first. */
export function masterKeysOf(
  ...[current, ...previous]: readonly [number, ...number[]]
): MasterKeySettings {
  const keyOf = (byte: number) => new Secret(Buffer.alloc(32, byte), 'test');
  const settings: MasterKeySettings = {
    current: keyOf(current),
    previous: previous.map(keyOf),
    refresh: () => settings,
  };
  return settings;
}

function createClock(start: number): TestClock {
  let now = start;
  return {
    now: () => now,
    monotonicMs: () => now,
    set: (ms) => {
      now = ms;
    },
    advance: (ms) => {
      now += ms;
    },
  };
}

export async function fetchToken(
  url: string,
  client: { readonly clientId: string; readonly clientSecret: string; readonly tsgId: string },
): Promise<string> {
  const basic = Buffer.from(`${client.clientId}:${client.clientSecret}`).toString('base64');
  const response = await exchange(
    'POST',
    `${url}/oauth2/access_token`,
    `grant_type=client_credentials&scope=tsg_id%3A${client.tsgId}`,
    {
      authorization: `Basic ${basic}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
  );
  if (response.status !== 200) throw new Error(`no token: ${JSON.stringify(response.body)}`);
  return response.body.access_token;
}
