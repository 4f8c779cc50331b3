/** Answers clients of MCP's modern era (2026-07-28), whose requests belong to no session. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type McpMessage, McpReply, mcpCallOf, metaOf } from './mcp-message.ts';
import {
  answerMcpMethod,
  invalidParamsCode,
  McpFault,
  type McpObject,
  mcpCapabilities,
  mcpInstructions,
  mcpServerInfo,
  methodNotFoundCode,
} from './mcp-offers.ts';

export const modernVersion = '2026-07-28';
export const versionKey = 'io.modelcontextprotocol/protocolVersion';
const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';
const serverInfoKey = 'io.modelcontextprotocol/serverInfo';

const headerMismatchCode = -32020;
const unsupportedVersionCode = -32022;

const discovered: McpObject = {
  supportedVersions: [modernVersion],
  capabilities: mcpCapabilities,
  instructions: mcpInstructions,
};

/** Results that a client may keep; the offers of this server never change while it runs. */
const cachedMethods = [
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
];
const cacheMs = 60_000;

/** The param that the header Mcp-Name repeats, by method. */
const namedParams: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};

export async function answerModernMcp(
  request: IncomingMessage,
  response: ServerResponse,
  message: McpMessage,
): Promise<void> {
  const { id, method } = message;
  const reply = new McpReply(response, id);
  if (method === undefined || id === undefined) {
    reply.accept();
    return;
  }
  const fault = envelopeFault(request, message) ?? headerFault(request, message);
  if (fault !== null) {
    reply.fail(400, fault);
    return;
  }
  const gone = new AbortController();
  const { signal } = gone;
  response.once('close', () => gone.abort());
  try {
    const call = mcpCallOf(message, reply, { signal, resourceNotFoundCode: invalidParamsCode });
    const result = method === 'server/discover' ? discovered : await answerMcpMethod(call);
    reply.succeed({
      resultType: 'complete',
      ...result,
      ...(cachedMethods.includes(method) ? { ttlMs: cacheMs, cacheScope: 'public' } : {}),
      _meta: { [serverInfoKey]: mcpServerInfo },
    });
  } catch (error) {
    if (signal.aborted) reply.accept();
    else if (error instanceof McpFault) reply.fail(statusOf(error), error);
    else throw error;
  }
}

function statusOf({ code }: McpFault): number {
  return code === methodNotFoundCode ? 404 : 200;
}

/** The fault of the members that `_meta` must have; null for none. */
function envelopeFault({ headers }: IncomingMessage, message: McpMessage): McpFault | null {
  const meta = metaOf(message);
  const { [versionKey]: version, [capabilitiesKey]: capabilities } = meta;
  if (typeof version !== 'string') {
    return new McpFault(invalidParamsCode, `_meta must contain ${versionKey}`);
  }
  if (typeof capabilities !== 'object' || capabilities === null) {
    return new McpFault(invalidParamsCode, `_meta must contain ${capabilitiesKey}`);
  }
  if (headers['mcp-protocol-version'] !== version) {
    return mismatch('MCP-Protocol-Version', versionKey);
  }
  if (version === modernVersion) return null;
  return new McpFault(unsupportedVersionCode, 'Unsupported protocol version', {
    supported: [modernVersion],
    requested: version,
  });
}

/** The fault of the headers that repeat the method and the name; null for none. */
function headerFault({ headers }: IncomingMessage, message: McpMessage): McpFault | null {
  const method = message.method!;
  if (headers['mcp-method'] !== method) return mismatch('Mcp-Method', 'method');
  const param = Object.hasOwn(namedParams, method) ? namedParams[method] : undefined;
  if (param === undefined) return null;
  const name = decoded(String(headers['mcp-name'] ?? ''));
  return name === message.params[param] ? null : mismatch('Mcp-Name', `params.${param}`);
}

function mismatch(header: string, member: string): McpFault {
  return new McpFault(headerMismatchCode, `The header ${header} must repeat ${member} of the body`);
}

/** Headers contain other characters than visible ASCII as `=?base64?…?=`. */
function decoded(value: string): string {
  const [, base64] = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value) ?? [];
  return base64 === undefined ? value : Buffer.from(base64, 'base64').toString('utf8');
}
