/** Builds what a client receives when a user must connect an account first, and reads its answer to that question. */
import { parseExactJson } from '../../model/json/exact-numbers.ts';
import { isObject } from '../../model/json/read-object.ts';
import { PlaneFault } from '../messages/plane-fault.ts';
import { capabilitiesMember } from '../messages/protocol-meta.ts';
import type { ClientMessage, ReceivedMessages } from '../messages/read-messages.ts';
import type { McpEra } from '../messages/verify-headers.ts';

/** The request of a client that lacks a connection. */
export interface AskingRequest {
  readonly era: McpEra;
  /** One message; null for a batch, and for a request without messages. */
  readonly message: ClientMessage | null;
  /** Header MCP-Protocol-Version; null for none. */
  readonly version: string | null;
  /** Whether the user has accepted the question; null when the request answers none. */
  readonly isAccepted: boolean | null;
}

/** Name of the question in `inputRequests`. */
const questionName = 'gatewright_connect';
/** JSON-RPC code with which a legacy server names an address to open. It exists since 2025-11-25. */
const urlRequired = -32042;
const urlVersion = '2025-11-25';
/** Methods whose result may be a question. */
const askingMethods: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/**
 * A modern client that opens addresses receives a question and repeats its call; a legacy one receives the error
 * that names the address. For every other client the address is part of the message.
 */
export function connectFault(url: string, slug: string, asking: AskingRequest): PlaneFault {
  const text = `Connect your account to use the MCP server ${slug}`;
  const message = `${text}: open ${url}`;
  const { era } = asking;
  if (era === 'modern') {
    const question = { method: 'elicitation/create', params: { mode: 'url', message: text, url } };
    const result = {
      resultType: 'input_required',
      inputRequests: { [questionName]: question },
    };
    return new PlaneFault('connection_required', message, {
      data: { url },
      ...(mayAsk(asking) && { result }),
    });
  }
  if (!opensUrls(asking)) return new PlaneFault('connection_required', message, { data: { url } });
  const elicitations = [{ mode: 'url', elicitationId: url, url, message: text }];
  const data = { url, elicitations };
  return new PlaneFault('connection_required', message, { data, rpcCode: urlRequired });
}

/** A call that already answers questions is not asked another one, because its answers would be lost. */
function mayAsk({ message, isAccepted }: AskingRequest): boolean {
  if (message === null || isAccepted === false || !askingMethods.has(message.method)) return false;
  const { inputResponses, requestState, _meta: meta } = message.params;
  const capabilities = isObject(meta) ? meta[capabilitiesMember] : undefined;
  return inputResponses === undefined && requestState === undefined && declaresUrls(capabilities);
}

/** Only `initialize` shows what a legacy client can do; afterwards its version must suffice. */
function opensUrls({ message, version }: AskingRequest): boolean {
  if (message?.method === 'initialize') return declaresUrls(message.params.capabilities);
  return version !== null && version >= urlVersion;
}

function declaresUrls(capabilities: unknown): boolean {
  const elicitation = isObject(capabilities) ? capabilities.elicitation : undefined;
  return isObject(elicitation) && isObject(elicitation.url);
}

/** A client's answer to the question, and its call without it. */
export interface ConnectAnswer {
  readonly isAccepted: boolean;
  readonly body: Buffer;
}

/** Null for a request that does not answer the question. */
export function readConnectAnswer(
  body: Buffer,
  { isBatch, messages }: ReceivedMessages,
): ConnectAnswer | null {
  const responses = messages[0]!.params.inputResponses;
  if (isBatch || !isObject(responses) || !Object.hasOwn(responses, questionName)) return null;
  const answer = responses[questionName];
  const json = parseExactJson(body.toString('utf8')) as { params: { inputResponses?: object } };
  const others = Object.entries(json.params.inputResponses!).filter(
    ([name]) => name !== questionName,
  );
  if (others.length === 0) delete json.params.inputResponses;
  else json.params.inputResponses = Object.fromEntries(others);
  const isAccepted = isObject(answer) && answer.action === 'accept';
  return { isAccepted, body: Buffer.from(JSON.stringify(json)) };
}
