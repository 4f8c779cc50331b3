/** Measures how long the largest possible responses block the event loop of a server. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { type Dispatcher, request } from 'undici';
import type { Member, Row } from './harness.ts';
import type { HostileServerReady, Stall } from './hostile-server.ts';

/** The shortest of these measurements counts, because other work on the machine only adds time. */
const repeats = 4;
/** Largest acceptable stall for any request. */
const stallMaxMs = 50;
/** The most items that a page, or the version history of a config, can hold. */
const rowsMax = 100;

export const member: Member = {
  name: 'large responses: longest stall of the event loop',
  run: async (scale): Promise<Row[]> => {
    const child = fork(resolve(import.meta.dirname, 'hostile-server.ts'), { stdio: 'inherit' });
    try {
      const [server] = (await once(child, 'message')) as [HostileServerReady];
      const paths = await fill(server, Math.max(1, Math.round(rowsMax * scale)));
      const rows: Row[] = [];
      for (const path of paths) rows.push(await measure(child, server, path));
      return rows;
    } finally {
      child.disconnect();
      await once(child, 'exit');
    }
  },
};

/** Creates resources of the largest size. Returns the paths that list them. */
async function fill(server: HostileServerReady, count: number): Promise<string[]> {
  const text = 'say "hé" '.repeat(80_000);
  const config = { name: 'large', config: { targets: [{ virtual_key: 'v' }], metadata: { text } } };
  const { slug } = await send(server, 'POST', '/v1/configs', config);
  for (let at = 0; at < count; at += 1) {
    config.config.metadata.text = `${at} ${text}`;
    await send(server, 'PUT', `/v1/configs/${slug}`, config);
    await send(server, 'POST', '/v1/configs', config);
    const { slug: workspace_id } = await send(server, 'POST', '/v2/workspaces', {
      name: `W ${at}`,
      defaults: { metadata: metadataOf(50) },
    });
    await send(server, 'POST', '/v1/api-keys/organisation/service', {
      name: `key ${at}`,
      scopes: ['completions.write'],
      defaults: { metadata: metadataOf(50) },
    });
    await send(server, 'POST', '/v1/policies/usage-limits', {
      conditions: Array.from({ length: 45 }, () => ({
        key: 'model',
        value: listOf(420, 40, at),
      })),
      group_by: [{ key: 'api_key' }],
      type: 'cost',
      credit_limit: 1,
      workspace_id,
    });
    await send(server, 'POST', '/v1/mcp-integrations', {
      name: `I ${at}`,
      url: 'https://a.example',
      auth_type: 'none',
      transport: 'http',
      configurations: { notes: listOf(4800, 40, at) },
    });
    await send(server, 'POST', '/v1/guardrails', {
      name: `G ${at}`,
      checks: [{ id: 'default.contains', parameters: { words: [text], operator: 'any' } }],
      actions: {},
    });
  }
  return [
    `/v1/configs/${slug}/versions?page_size=100`,
    ...[
      '/v1/configs',
      '/v1/guardrails',
      '/v2/workspaces',
      '/v1/api-keys',
      '/v1/policies/usage-limits',
      '/v1/mcp-integrations',
    ].map((list) => `${list}?page_size=100`),
    '/admin/v2/gatewright/snapshot?owner=bench',
  ];
}

/** Each value has about 4 KiB. */
function metadataOf(values: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: values }, (_, at) => [`value ${at}`, 'say "hé" '.repeat(400)]),
  );
}

/** Fills a body with as many strings as it may contain. */
function listOf(count: number, length: number, first: number): string[] {
  return Array.from({ length: count }, (_, at) => `${first} ${at} `.padEnd(length, 'x'));
}

async function measure(
  child: ChildProcess,
  server: HostileServerReady,
  path: string,
): Promise<Row> {
  let stallMs = Number.POSITIVE_INFINITY;
  let bytes = 0;
  for (let at = 0; at < repeats; at += 1) {
    await stallOf(child);
    bytes = await sizeOf(server, path);
    stallMs = Math.min(stallMs, await stallOf(child));
  }
  const route = path.split('?', 1)[0]!.replaceAll(/pc-[^/]+/g, '…');
  const metric = `GET ${route}, ms: ${(bytes / 2 ** 20).toFixed(1)} MiB`;
  return { metric, ratio: stallMs, aim: stallMaxMs };
}

async function stallOf(child: ChildProcess): Promise<Stall> {
  child.send('stall');
  const [stall] = (await once(child, 'message')) as [Stall];
  return stall;
}

async function sizeOf(server: HostileServerReady, path: string): Promise<number> {
  const { statusCode, body } = await request(server.url + path, { headers: headersOf(server) });
  if (statusCode !== 200) throw new Error(`GET ${path} returned ${statusCode}`);
  let bytes = 0;
  for await (const chunk of body) bytes += (chunk as Buffer).length;
  return bytes;
}

async function send(
  server: HostileServerReady,
  method: Dispatcher.HttpMethod,
  path: string,
  content: unknown,
): Promise<{ slug: string }> {
  const headers = { ...headersOf(server), 'content-type': 'application/json' };
  const { statusCode, body } = await request(server.url + path, {
    method,
    headers,
    body: JSON.stringify(content),
  });
  const response = await body.text();
  if (statusCode !== 200) throw new Error(`${method} ${path} returned ${statusCode}: ${response}`);
  return JSON.parse(response) as { slug: string };
}

function headersOf({ token }: HostileServerReady): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}
