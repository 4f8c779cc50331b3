/** Sends a steady mixed load: chats, streams, tools of MCP, changes and reads of the Admin API, and syncs. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exchange } from '../support/network/exchange.ts';

export interface LoadTargets {
  readonly adminUrl: string;
  readonly inferenceUrl: string;
  readonly mcpUrl: string;
  /** `http://127.0.0.1:port/v1` of the mock provider. */
  readonly providerUrl: string;
  readonly key: string;
  readonly mcpKey: string;
  readonly slug: string;
  /** Folder that the daemon syncs. */
  readonly source: string;
  /** Returns a valid access token. */
  token(): Promise<string>;
}

export interface LoadCounts {
  sent: number;
  failed: number;
  /** The first failures. */
  readonly failures: string[];
}

/** Requests at the same time; each connection waits for its answer before the next request. */
const callers = 4;
const pauseMs = 100;
const failuresMax = 10;
/** Requests between two changes of the synced folder. */
const requestsPerSync = 500;

/** Requests of this era need no session. */
const mcpVersion = '2026-07-28';

type Step = (at: number) => Promise<number>;

function stepsOf(targets: LoadTargets): Step[] {
  const { adminUrl, inferenceUrl, mcpUrl, providerUrl, key, mcpKey, slug } = targets;
  const config = JSON.stringify({
    provider: 'mock-upstream',
    custom_host: providerUrl,
    api_key: 'a',
  });
  const chat = async (stream: boolean) => {
    const body = { model: 'm', stream, messages: [{ role: 'user', content: 'hello' }] };
    const headers = { 'x-gateway-api-key': key, 'x-gateway-config': config };
    return (await exchange('POST', `${inferenceUrl}/v1/chat/completions`, body, headers)).status;
  };
  const admin = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${await targets.token()}` };
    return exchange(method, adminUrl + path, body, headers);
  };
  const change = async () => {
    const made = await admin('POST', '/v2/configs', {
      name: 'soak',
      config: { retry: { attempts: 1 } },
    });
    if (made.status !== 200) return made.status;
    return (await admin('DELETE', `/v2/configs/${made.body.id}`)).status;
  };
  const callTool = async () => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': mcpVersion,
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const params = { name: 'echo', arguments: { text: 'hello' }, _meta: meta };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const headers = {
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${mcpKey}`,
      'mcp-protocol-version': mcpVersion,
      'mcp-method': 'tools/call',
      'mcp-name': 'echo',
    };
    return (await exchange('POST', `${mcpUrl}/${slug}/mcp`, body, headers)).status;
  };
  const sync = async (at: number) => {
    if (at % requestsPerSync !== 0) return 200;
    writeSourceFile(targets.source, at);
    return 200;
  };
  const read = async () => (await admin('GET', '/v1/logs?page_size=10')).status;
  return [() => chat(false), () => chat(true), callTool, () => chat(false), read, change, sync];
}

/** Writes the only manifest of the synced folder; each number changes it. */
export function writeSourceFile(folder: string, number: number): void {
  const lines = [
    'apiVersion: gatewright.dev/v1',
    'kind: Config',
    'metadata: {name: soak-synced}',
    `spec: {config: {retry: {attempts: ${1 + (number % 5)}}}}`,
  ];
  writeFileSync(join(folder, 'config.yaml'), `${lines.join('\n')}\n`);
}

/** Sends requests until `isOver`; resolves with the counts when every caller has ended. */
export async function sendLoad(
  targets: LoadTargets,
  counts: LoadCounts,
  isOver: () => boolean,
): Promise<void> {
  const steps = stepsOf(targets);
  const run = async (caller: number) => {
    for (let at = caller; !isOver(); at += 1) {
      counts.sent += 1;
      const status = await steps[at % steps.length]!(at).catch((error: Error) => error.message);
      if (typeof status !== 'number' || status >= 400) {
        counts.failed += 1;
        if (counts.failures.length < failuresMax) {
          counts.failures.push(`step ${at % steps.length}: ${status}`);
        }
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => run(caller)));
}
