/** Fuzzes messages of MCP in both eras: a declared error, or messages that agree with JSON.parse and a round trip. */
import { PlaneFault } from '../../../../src/mcp/messages/plane-fault.ts';
import {
  idKey,
  type ReceivedMessages,
  readMessages,
} from '../../../../src/mcp/messages/read-messages.ts';
import { firstModernVersion, verifyHeaders } from '../../../../src/mcp/messages/verify-headers.ts';
import { type ParserTarget, requireEqual } from '../parser-target.ts';

const bounds = { valuesMax: 20_000, depthMax: 64 };

/** Null for a declared error. */
async function declared<T>(work: () => T | Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PlaneFault && error.message !== '') return null;
    throw error;
  }
}

const summary = ({ isBatch, messages }: ReceivedMessages) => ({
  isBatch,
  messages: messages.map(({ kind, id, method, params }) => [
    kind,
    idKey(id),
    method,
    JSON.stringify(params),
  ]),
});

function headersOf(received: ReceivedMessages): Record<string, string> {
  const { method, params } = received.messages[0]!;
  const { name } = params;
  const isText = typeof name === 'string' && /^[\x20-\x7e]*$/.test(name);
  return {
    'mcp-protocol-version': firstModernVersion,
    'mcp-method': method,
    ...(isText ? { 'mcp-name': name } : {}),
  };
}

export const mcpTarget: ParserTarget = {
  name: 'mcp',
  sources: /\/src\/(?:mcp\/messages|model\/json)\//,
  dictionary: [
    '{"jsonrpc":"2.0","id":1,"method":"',
    'tools/call',
    'Tools/Call',
    'notifications/initialized',
    '"params":{',
    '"name":"echo"',
    '"Name":',
    '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}',
    '"result":{}',
    '"error":{"code":-32602.0,"message":"a"}',
    '"id":null',
    '"id":1.0',
    '"id":9007199254740993',
    '[',
    ']',
    ',',
    '{',
    '}',
    '"',
    '\\u0061',
    'initialize',
    '"arguments":{}',
  ],
  check: async (input) => {
    const received = await declared(() => readMessages(input, bounds));
    if (received === null) return;
    const value: unknown = JSON.parse(input.toString('utf8'));
    requireEqual('a batch', received.isBatch, Array.isArray(value));
    const plain = Array.isArray(value) ? value : [value];
    requireEqual(
      'the methods',
      received.messages.map(({ method }) => method),
      plain.map((one) => one.method ?? ''),
    );
    const json = received.messages.map((message) => message.json);
    const written = Buffer.from(JSON.stringify(received.isBatch ? json : json[0]));
    const again = await readMessages(written, bounds);
    requireEqual('the messages written again', summary(again), summary(received));
    for (const headers of [{}, { 'mcp-protocol-version': '2025-11-25' }, headersOf(received)]) {
      await declared(() => verifyHeaders(headers, received, () => undefined));
    }
  },
};
