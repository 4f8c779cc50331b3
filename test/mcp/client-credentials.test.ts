/** Runs the scenarios of the conformance suite for clients with OAuth client credentials, with the gateway as the client. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type McpTestPlane, startMcpTestPlane } from '../support/server/mcp-plane.ts';

const program = fileURLToPath(
  import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'),
);
const folder = mkdtempSync(join(tmpdir(), 'gatewright-conformance-'));
const command = join(folder, 'client.mjs');
/** Calls the scenario's server through the gateway, as the suite starts it. */
const client = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { url, context } = JSON.parse(Buffer.concat(chunks).toString());
    callThroughGateway(url, JSON.parse(context)).then(
      (status) => response.end(String(status)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
});
let plane: McpTestPlane;
let key: string;

beforeAll(async () => {
  plane = await startMcpTestPlane({}, '127.0.0.1,localhost');
  ({ key } = await plane.addKey());
  client.listen(0, '127.0.0.1');
  await once(client, 'listening');
  const { port } = client.address() as AddressInfo;
  const script = `
    const body = JSON.stringify({ url: process.argv.at(-1), context: process.env.MCP_CONFORMANCE_CONTEXT });
    const answer = await fetch('http://127.0.0.1:${port}', { method: 'POST', body });
    process.stdout.write(await answer.text());
    process.exit(answer.ok ? 0 : 1);`;
  writeFileSync(command, script);
});
afterAll(async () => {
  client.close();
  rmSync(folder, { recursive: true, force: true });
  await plane[Symbol.asyncDispose]();
});

interface ScenarioContext {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly private_key_pem?: string;
}

/** An operator looks up issuer and token endpoint once, when the integration is written. */
async function endpointsOf(url: string): Promise<{ issuer: string; tokenEndpoint: string }> {
  const { origin, pathname } = new URL(url);
  const resource = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  const { authorization_servers: servers } = (await resource.json()) as {
    authorization_servers: string[];
  };
  const at = new URL(servers[0]!);
  const path = at.pathname === '/' ? '' : at.pathname;
  const found = await fetch(`${at.origin}/.well-known/oauth-authorization-server${path}`);
  const metadata = (await found.json()) as { issuer: string; token_endpoint: string };
  return { issuer: metadata.issuer, tokenEndpoint: metadata.token_endpoint };
}

async function callThroughGateway(url: string, context: ScenarioContext): Promise<number> {
  const { issuer, tokenEndpoint } = await endpointsOf(url);
  const { client_secret: secret, private_key_pem: pem } = context;
  const integration = await plane.addIntegration({
    url,
    auth_type: 'oauth_client_credentials',
    configurations: {
      oauth_client_id: context.client_id,
      oauth_token_endpoint: tokenEndpoint,
      ...(secret !== undefined && { oauth_client_secret: secret }),
      ...(pem !== undefined && {
        oauth_token_endpoint_auth_method: 'private_key_jwt',
        oauth_private_key: pem,
        oauth_issuer: issuer,
      }),
    },
  });
  const { slug } = await plane.addServer({}, integration);
  const opened = await plane.call(key, slug, 'initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'agent', version: '1' },
  });
  const session = opened.headers['mcp-session-id'];
  const headers: Record<string, string> = { 'mcp-protocol-version': '2025-11-25' };
  if (typeof session === 'string') headers['mcp-session-id'] = session;
  const listed = await plane.call(key, slug, 'tools/list', {}, { headers });
  if (listed.status !== 200) throw new Error(JSON.stringify([opened.body, listed.body]));
  return listed.status;
}

it.each(['auth/client-credentials-basic', 'auth/client-credentials-jwt'])(
  'passes %s without a failed check',
  async (scenario) => {
    const output = join(folder, scenario.replace('/', '-'));
    const words = [program, 'client', '--scenario', scenario, '-o', output];
    const { promise, resolve } = Promise.withResolvers<string>();
    const all = [...words, '--command', `${process.execPath} ${command}`];
    execFile(process.execPath, all, (_, stdout, stderr) => resolve(stdout + stderr));
    const printed = await promise;
    const files = readdirSync(output, { recursive: true, encoding: 'utf8' });
    const path = files.find((name) => name.endsWith('checks.json'));
    expect([printed, path]).toEqual([printed, expect.any(String)]);
    const checks = JSON.parse(readFileSync(join(output, path!), 'utf8')) as {
      readonly id: string;
      readonly status: string;
    }[];
    const statuses = new Set(checks.map(({ status }) => status));
    expect([printed, statuses.has('SUCCESS'), statuses.has('FAILURE')]).toEqual([
      printed,
      true,
      false,
    ]);
  },
);
