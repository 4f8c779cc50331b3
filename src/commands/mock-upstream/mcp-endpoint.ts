/** Serves the mock MCP server over Streamable HTTP, to clients of the legacy and of the modern era. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { LegacyMcp } from './mcp-legacy.ts';
import { McpReply, metaOf, readMcpMessage } from './mcp-message.ts';
import { answerModernMcp, modernVersion, versionKey } from './mcp-modern.ts';
import { McpFault } from './mcp-offers.ts';
import { readMockJson } from './mock-exchange.ts';

const forbiddenCode = -32000;
const loopbackNames = ['localhost', '127.0.0.1', '[::1]'];
const datePattern = /^\d{4}-\d\d-\d\d$/;

/** One for each server, because it holds the sessions of legacy clients. */
export class McpEndpoint {
  readonly #legacy = new LegacyMcp();

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method } = request;
    if (isForeign(request)) {
      const fault = new McpFault(forbiddenCode, 'The Host or Origin header names another site');
      new McpReply(response, undefined).fail(403, fault);
      return;
    }
    if (method !== 'POST') {
      this.#legacy.answerWithoutBody(request, response);
      return;
    }
    const body = await readMockJson(request);
    try {
      const message = readMcpMessage(body);
      const version = request.headers['mcp-protocol-version'];
      const isModern = metaOf(message)[versionKey] !== undefined || isModernVersion(version);
      if (isModern) await answerModernMcp(request, response, message);
      else await this.#legacy.answer(request, response, message);
    } catch (error) {
      if (!(error instanceof McpFault)) throw error;
      new McpReply(response, undefined).fail(400, error);
    }
  }
}

function isModernVersion(version: string | string[] | undefined): boolean {
  return typeof version === 'string' && datePattern.test(version) && version >= modernVersion;
}

/**
 * Whether a browser may have been tricked into this request: by a name that resolves to this machine
 * (only a name of this machine is accepted on its loopback address), or from a page of another site.
 */
function isForeign({ headers: { host, origin }, socket }: IncomingMessage): boolean {
  const isLoopback = /^(?:::ffff:)?127\.|^::1$/.test(socket.localAddress ?? '');
  const hostName = nameOf(`http://${host}`);
  if (isLoopback && !loopbackNames.includes(hostName)) return true;
  if (origin === undefined) return false;
  return ![...loopbackNames, hostName].includes(nameOf(origin));
}

/** Empty for an address that cannot be parsed. */
function nameOf(address: string): string {
  return URL.canParse(address) ? new URL(address).hostname : '';
}
