/** Writes the example requests that the report of `up` suggests. */
import { join, relative } from 'node:path';
import type { CommandIo } from '../shared/command.ts';
import { shellWord } from '../shared/shell-line.ts';
import type { UpAddresses } from './up-start.ts';

interface TriesContext {
  readonly home: string;
  readonly io: Pick<CommandIo, 'cwd'>;
  /** Whether the source is the quickstart of a clone. */
  readonly isQuickstart: boolean;
}

/** With the quickstart, also a completion and a call of a tool with the delivered key. */
export function triesOf(
  { home, io, isQuickstart }: TriesContext,
  { adminUrl, inferenceUrl, mcpUrl }: UpAddresses,
): string[] {
  const description = `curl ${adminUrl}/openapi.json`;
  if (!isQuickstart) return [description];
  const key = relative(io.cwd, join(home, 'secrets/support/support-bot.key'));
  const post = (url: string, body: object, headers: Readonly<Record<string, string>>): string =>
    [
      `curl ${url} -H "authorization: Bearer $(cat ${shellWord(key)})"`,
      ...Object.entries({ 'content-type': 'application/json', ...headers }).map(
        ([name, value]) => `-H '${name}: ${value}'`,
      ),
      `-d '${JSON.stringify(body)}'`,
    ].join(' ');
  const completion = post(`${inferenceUrl}/v1/chat/completions`, completionBody, {});
  if (mcpUrl === null) return [completion, description];
  const toolCall = post(`${mcpUrl}/mock-tools/mcp`, toolCallBody, toolCallHeaders);
  return [completion, toolCall, description];
}

const completionBody = { model: 'any', messages: [{ role: 'user', content: 'hello' }] };

/** One request is a whole dialogue in this version of the protocol; earlier ones open a session first. */
const mcpVersion = '2026-07-28';
const toolName = 'add';
const toolCallHeaders = {
  'mcp-protocol-version': mcpVersion,
  'mcp-method': 'tools/call',
  'mcp-name': toolName,
};
const toolCallBody = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {
    name: toolName,
    arguments: { a: 2, b: 3 },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': mcpVersion,
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
};
