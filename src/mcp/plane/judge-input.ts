/** Has input guardrails judge tool calls and answers of clients before they are sent, and applies their changes. */
import { writeJson } from '../../model/json/json-bytes.ts';
import { longLengthMin, run } from '../../slices.ts';
import { judgeTexts } from '../judging/judge-texts.ts';
import { PlaneFault } from '../messages/plane-fault.ts';
import { ownParams } from '../messages/protocol-meta.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import { decodedHeader } from '../messages/verify-headers.ts';
import type { McpExchange, SentMessages } from './mcp-exchange.ts';
import type { PlaneCall } from './plane-call.ts';
import { guardrailsFor } from './server-guardrails.ts';

/** Sets the fault of each denied call. Returns what is sent, byte for byte what was judged. */
export async function judgeInput(exchange: McpExchange, sent: SentMessages): Promise<SentMessages> {
  const messages: RpcObject[] = [];
  for (const call of sent.calls) messages.push(await judgedMessage(exchange, call));
  const isChanged = messages.some((message, at) => message !== sent.calls[at]!.message.json);
  if (!isChanged) return sent;
  const changed = sent.isBatch ? messages : messages[0];
  const body = await run(writeJson(changed), sent.body.length >= longLengthMin);
  return { ...sent, body };
}

/** Texts of a caller for the server: arguments, and answers to its questions. */
interface InputTexts {
  readonly texts: RpcObject;
  /** Returns the message with other texts. */
  readonly replace: (texts: RpcObject) => RpcObject;
}

async function judgedMessage(exchange: McpExchange, call: PlaneCall): Promise<RpcObject> {
  const { server, arrival, metadata } = exchange;
  const { message } = call;
  const input = inputTexts(call);
  if (input === null) return message.json;
  const tool = call.isToolCall ? String(message.params.name) : null;
  const guardrails = guardrailsFor(server.guardrails.input, tool);
  if (guardrails.length === 0) return message.json;
  const judged = {
    method: message.method === '' ? 'response' : message.method,
    tool,
    server: server.slug,
    params: message.params,
    headers: arrival.request.headers,
    metadata,
    traceId: arrival.id,
    now: arrival.now,
    tenant: server,
  };
  const others = [...argumentHeaders(exchange), ...textsBesideParams(message.json)];
  const verdict = await judgeTexts(guardrails, judged, 'input', input.texts, others);
  call.noteVerdict(verdict);
  if (verdict.fault !== null) call.fault = verdict.fault;
  else if (verdict.changesOthers) {
    const text =
      'A guardrail changes texts beside the arguments, or headers that repeat them, so the call cannot be sent';
    call.fault = new PlaneFault('guardrail_denied', text);
  }
  return verdict.value === input.texts ? message.json : input.replace(verdict.value);
}

/** Null for a message without texts for the server. */
function inputTexts({ message, isToolCall }: PlaneCall): InputTexts | null {
  const { json, params, kind, method } = message;
  if (kind === 'response') {
    const { jsonrpc, id, ...texts } = json;
    return { texts, replace: (changed) => ({ jsonrpc, id, ...changed }) };
  }
  if (!isToolCall && !method.startsWith('tasks/') && params.inputResponses === undefined) {
    return null;
  }
  const { texts, replace } = ownParams(params, ['name', 'requestState']);
  return { texts, replace: (changed) => ({ ...json, params: replace(changed) }) };
}

const knownMembers: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params']);

/** Members of a request that JSON-RPC does not know, which a server could read all the same. */
function textsBesideParams(json: RpcObject): string[] {
  if (json.method === undefined) return [];
  const unknown = Object.entries(json).filter(([name]) => !knownMembers.has(name));
  return unknown.length === 0 ? [] : [JSON.stringify(Object.fromEntries(unknown))];
}

/** Values of `Mcp-Param-*`, which repeat arguments and would carry other texts past the guardrails. */
function argumentHeaders({ arrival }: McpExchange): string[] {
  return Object.entries(arrival.request.headers).flatMap(([name, value]) =>
    name.startsWith('mcp-param-') ? [decodedHeader(String(value)) ?? String(value)] : [],
  );
}
