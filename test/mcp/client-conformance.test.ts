/** Verifies the gateway as client of MCP servers, most of which demand authorization, with the client scenarios of the conformance suite. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readTrustedHosts } from '../../src/trusted-hosts.ts';
import { startUserOAuthScene, type UserOAuthScene } from '../support/server/user-oauth.ts';

const program = fileURLToPath(
  import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'),
);
const client = fileURLToPath(new URL('../support/mcp/client-driver.mjs', import.meta.url));

/**
 * Client scenarios that either revision requires. Three others concern the client behind the gateway only: its
 * defaults for elicitations, its request states, and the values of headers that it derives from arguments.
 */
const scenarios = [
  'auth/metadata-default',
  'auth/metadata-var1',
  'auth/metadata-var2',
  'auth/metadata-var3',
  'auth/basic-cimd',
  'auth/scope-from-www-authenticate',
  'auth/scope-from-scopes-supported',
  'auth/scope-omitted-when-undefined',
  'auth/scope-step-up',
  'auth/scope-retry-limit',
  'auth/token-endpoint-auth-basic',
  'auth/token-endpoint-auth-post',
  'auth/token-endpoint-auth-none',
  'auth/pre-registration',
  'auth/resource-mismatch',
  'auth/offline-access-scope',
  'auth/offline-access-not-supported',
  'auth/authorization-server-migration',
  'auth/iss-supported',
  'auth/iss-not-advertised',
  'auth/iss-supported-missing',
  'auth/iss-wrong-issuer',
  'auth/iss-unexpected',
  'auth/iss-normalized',
  'auth/metadata-issuer-mismatch',
  'initialize',
  'tools_call',
  'sse-retry',
  'request-metadata',
  'http-standard-headers',
  'http-invalid-tool-headers',
  'json-schema-ref-no-deref',
];

let scene: UserOAuthScene;
let driver: Server;
let driverUrl: string;

interface Scenario {
  readonly scenario: string;
  readonly url: string;
  readonly context: { readonly client_id?: string; readonly client_secret?: string };
}

beforeAll(async () => {
  const trusted = readTrustedHosts('127.0.0.1,localhost,[::1]');
  const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];
  scene = await startUserOAuthScene({}, {}, { trustedHosts });
  driver = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const notes = await play(JSON.parse(Buffer.concat(chunks).toString())).catch(String);
    response.end(notes);
  });
  await new Promise<void>((done) => driver.listen(0, '127.0.0.1', done));
  driverUrl = `http://127.0.0.1:${(driver.address() as AddressInfo).port}`;
});
afterAll(async () => {
  driver.close();
  await scene[Symbol.asyncDispose]();
});

/** An error that names where the user connects an account. */
interface ConnectError {
  readonly message: string;
  readonly data?: { readonly url?: string; readonly elicitations?: readonly { url: string }[] };
}

/** Uses the tools of the scenario's server as a user with a client and a browser does. */
async function play({ scenario, url, context }: Scenario): Promise<string> {
  const { client_id: id, client_secret: secret } = context;
  const configurations = {
    ...(id !== undefined && { oauth_client_id: id }),
    ...(secret !== undefined && { oauth_client_secret: secret }),
  };
  const integration = await scene.plane.addIntegration({
    url,
    auth_type: scenario.startsWith('auth/') ? 'oauth_auto' : 'none',
    configurations,
  });
  const server = await scene.plane.addServer({}, integration);
  const { key } = await scene.addUserKey();
  const notes: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    const address = await useTools(server.slug, key).catch((error: unknown) => {
      const { data, message } = error as ConnectError;
      notes.push(message);
      return data?.url ?? data?.elicitations?.[0]?.url ?? null;
    });
    if (address === null) break;
    const page = await scene.connect(key, address).catch((error: unknown) => String(error));
    notes.push(typeof page === 'string' ? page : page.text.replace(/<style>.*<\/style>/, ''));
  }
  return notes.join('\n');
}

/** Null when every tool was called. */
async function useTools(slug: string, key: string): Promise<null> {
  const transport = new StreamableHTTPClientTransport(
    new URL(`${scene.plane.server.mcpUrl}/${slug}/mcp`),
    { requestInit: { headers: { 'x-gateway-api-key': key } } },
  );
  const own = new Client(
    { name: 'conformance', version: '1' },
    { versionNegotiation: { mode: 'auto' } },
  );
  try {
    await own.connect(transport);
    const { tools } = await own.listTools();
    for (const { name, inputSchema } of tools) {
      await own.callTool({ name, arguments: argumentsFor(inputSchema) });
    }
    return null;
  } finally {
    await own.close();
  }
}

/** A value of the right type for each argument. */
function argumentsFor({
  properties = {},
}: {
  readonly properties?: object;
}): Record<string, unknown> {
  const values: Record<string, unknown> = { number: 5, integer: 5, boolean: true };
  const pairs = Object.entries(properties as Record<string, { readonly type?: string }>);
  return Object.fromEntries(pairs.map(([name, { type = '' }]) => [name, values[type] ?? 'text']));
}

interface Check {
  readonly id: string;
  readonly status: string;
}

/** The document of the gateway is at an address of its own, not at the one that the suite expects. */
const expectedWarnings: Readonly<Record<string, readonly string[]>> = {
  'auth/basic-cimd': ['WARNING cimd-client-id-used'],
};

/** Checks of a scenario that have failed, and its warnings. */
async function runScenario(scenario: string): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-client-'));
  try {
    const command = `${process.execPath} ${client} ${driverUrl}`;
    const { promise, resolve } = Promise.withResolvers<string>();
    const words = [program, 'client', '--command', command, '--scenario', scenario, '-o', folder];
    execFile(process.execPath, words, { maxBuffer: 2 ** 24 }, (_, stdout, stderr) =>
      resolve(stdout + stderr),
    );
    const output = await promise;
    const files = readdirSync(folder, { recursive: true }).map(String);
    const file = files.find((name) => name.endsWith('checks.json'));
    if (file === undefined) throw new Error(output);
    const checks = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Check[];
    expect(checks.length).toBeGreaterThan(0);
    return checks
      .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
      .map(({ id, status }) => `${status} ${id}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('the gateway as client of MCP servers', () => {
  it.each(scenarios)('passes %s', async (scenario) => {
    expect(await runScenario(scenario)).toEqual(expectedWarnings[scenario] ?? []);
  });
});
