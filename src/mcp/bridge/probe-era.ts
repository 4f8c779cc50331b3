/** Queries a server with a request of the modern era, to learn which era it speaks. */
import { type EraEvidence, eraEvidence } from '../messages/era-evidence.ts';
import {
  gatewayClient,
  type ModernClient,
  modernHeaders,
  modernParams,
} from '../messages/modern-request.ts';
import { PlaneFault } from '../messages/plane-fault.ts';

/** One response of a server. */
export interface ServerAnswer {
  readonly status: number;
  /** The JSON-RPC response; null for a body without one. */
  readonly message: unknown;
}

/** Sends one request and reads its response; names of headers are in lower case. */
export type AskServer = (
  headers: Readonly<Record<string, string>>,
  message: { readonly id: string } & Readonly<Record<string, unknown>>,
) => Promise<ServerAnswer>;

const method = 'server/discover';

/** @throws PlaneFault for a response that says nothing about the era, and what `ask` throws */
export async function probeEra(
  ask: AskServer,
  client: ModernClient = gatewayClient,
): Promise<EraEvidence> {
  const params = modernParams({}, client);
  const headers = modernHeaders(method, params, client.version);
  const { status, message } = await ask(headers, { jsonrpc: '2.0', id: 'era', method, params });
  if (status === 401 || status === 403 || status === 429 || status >= 500) {
    const text = `The MCP server responded with status ${status}`;
    throw new PlaneFault('server_unusable', text);
  }
  return eraEvidence(message);
}
