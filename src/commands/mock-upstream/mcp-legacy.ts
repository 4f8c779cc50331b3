/** Answers clients of MCP's legacy era (2025-03-26 to 2025-11-25), which open a session first. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type McpMessage, McpReply, type McpRequestId, mcpCallOf } from './mcp-message.ts';
import {
  answerMcpMethod,
  McpFault,
  type McpObject,
  mcpCapabilities,
  mcpInstructions,
  mcpServerInfo,
} from './mcp-offers.ts';

const versions = ['2025-11-25', '2025-06-18', '2025-03-26'];
const sessionHeader = 'mcp-session-id';
/** The oldest session ends when another one would exceed this. */
const sessionsMax = 1000;
const badRequestCode = -32000;
const sessionNotFoundCode = -32001;
const resourceNotFoundCode = -32002;

/** Requests of a session that are running. */
type Session = Map<McpRequestId, AbortController>;

/** The sessions of one server, in the order of their creation. */
export class LegacyMcp {
  readonly #sessions = new Map<string, Session>();

  async answer(
    request: IncomingMessage,
    response: ServerResponse,
    message: McpMessage,
  ): Promise<void> {
    const { id, method } = message;
    const reply = new McpReply(response, id);
    const fault = versionFault(request);
    if (fault !== null) {
      reply.fail(400, fault);
      return;
    }
    if (method === 'initialize' && id !== undefined) {
      reply.succeed(initialized(message.params), { [sessionHeader]: this.#open() });
      return;
    }
    const session = this.#sessionOf(request);
    if (session instanceof McpFault) {
      reply.fail(session.code === sessionNotFoundCode ? 404 : 400, session);
      return;
    }
    if (method === undefined || id === undefined) {
      if (method === 'notifications/cancelled') {
        session.get(message.params.requestId as McpRequestId)?.abort();
      }
      reply.accept();
      return;
    }
    const controller = new AbortController();
    const { signal } = controller;
    session.set(id, controller);
    response.once('close', () => controller.abort());
    try {
      const call = mcpCallOf(message, reply, { signal, resourceNotFoundCode });
      reply.succeed(method === 'ping' ? {} : await answerMcpMethod(call));
    } catch (error) {
      if (signal.aborted) reply.accept();
      else if (error instanceof McpFault) reply.fail(200, error);
      else throw error;
    } finally {
      session.delete(id);
    }
  }

  /** Ends a session for DELETE. The server sends nothing on its own, so it offers no stream for GET. */
  answerWithoutBody(request: IncomingMessage, response: ServerResponse): void {
    const reply = new McpReply(response, undefined);
    if (request.method !== 'DELETE' || request.headers[sessionHeader] === undefined) {
      const fault = new McpFault(badRequestCode, 'Method not allowed');
      reply.fail(405, fault, { allow: 'POST, DELETE' });
      return;
    }
    const session = this.#sessionOf(request);
    if (session instanceof McpFault) {
      reply.fail(404, session);
      return;
    }
    this.#end(String(request.headers[sessionHeader]));
    reply.accept(204);
  }

  #open(): string {
    const id = randomUUID();
    this.#sessions.set(id, new Map());
    if (this.#sessions.size > sessionsMax) this.#end(this.#sessions.keys().next().value!);
    return id;
  }

  #end(id: string): void {
    const running = this.#sessions.get(id)?.values() ?? [];
    this.#sessions.delete(id);
    for (const controller of running) controller.abort();
  }

  #sessionOf({ headers }: IncomingMessage): Session | McpFault {
    const id = headers[sessionHeader];
    if (id === undefined) {
      return new McpFault(badRequestCode, 'The Mcp-Session-Id is missing: send initialize first');
    }
    const session = this.#sessions.get(String(id));
    return session ?? new McpFault(sessionNotFoundCode, 'Session not found');
  }
}

function versionFault({ headers }: IncomingMessage): McpFault | null {
  const version = headers['mcp-protocol-version'];
  if (version === undefined || versions.includes(String(version))) return null;
  const text = `The MCP-Protocol-Version must be one of ${versions.join(', ')}`;
  return new McpFault(badRequestCode, text);
}

/** The version of the client where it is known, else the newest one, which the client may refuse. */
function initialized({ protocolVersion: wanted }: McpObject): McpObject {
  return {
    protocolVersion: versions.find((version) => version === wanted) ?? versions[0],
    capabilities: mcpCapabilities,
    serverInfo: mcpServerInfo,
    instructions: mcpInstructions,
  };
}
