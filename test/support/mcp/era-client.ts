/** Calls a tool as a client of either era, with arguments in exactly these bytes, and returns the response unparsed. */
import type { McpTestPlane } from '../server/mcp-plane.ts';
import { ModernCaller } from './modern-caller.ts';
import type { SpokenEra } from './one-era.ts';

type ClientEra = 'legacy' | 'modern';

/** Pairs of eras: calls of each are relayed or bridged in their own way. */
export const eraWays: readonly (readonly [name: string, client: ClientEra, server: SpokenEra])[] = [
  ['of a legacy client', 'legacy', 'both'],
  ['of a modern client', 'modern', 'both'],
  ['of a legacy client at a modern server', 'legacy', 'modern'],
  ['of a modern client at a legacy server', 'modern', 'legacy'],
];

interface CallInBytes {
  readonly client: ClientEra;
  readonly key: string;
  readonly slug: string;
  /** JSON. */
  readonly args: string;
  /** By default a tool that the recording server has. */
  readonly name?: string;
}

export async function callInBytes(
  plane: McpTestPlane,
  { client, key, slug, args, name = 'echo' }: CallInBytes,
): Promise<{ readonly status: number; readonly text: string }> {
  const params = { name, arguments: 'the arguments' };
  const legacy = { body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, headers: {} };
  const { body, headers } =
    client === 'legacy'
      ? legacy
      : new ModernCaller(plane, key, slug).request('tools/call', params, {});
  const response = await fetch(`${plane.server.mcpUrl}/${slug}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify(body).replace('"the arguments"', () => args),
  });
  return { status: response.status, text: await response.text() };
}
