/** Encodes the spans of MCP requests by OpenTelemetry's conventions. They contain names, never arguments or results. */
import {
  failed,
  listed,
  parentFlags,
  type SpanAttributes,
  type SpanEntry,
  spanKinds,
  times,
} from '../../gateway/logs/otlp-encoding.ts';
import type { RpcId } from '../messages/plane-fault.ts';
import type { ClientMessage } from '../messages/read-messages.ts';
import type { ServerError } from '../messages/server-errors.ts';
import { type McpTrace, newMcpSpanId } from './mcp-trace.ts';

/** One message of a finished request. */
export interface TracedMessage {
  readonly method: string;
  readonly id: RpcId;
  /** The tool, prompt or resource; null for none. */
  readonly name: string | null;
  /** Code of the error that the caller received; null for none. */
  readonly errorType: string | null;
  /** Code of that error in JSON-RPC; null for none. */
  readonly rpcCode: number | null;
}

/** The requests among the messages of a caller, with their outcome. */
export function tracedMessages(
  calls: readonly {
    readonly message: ClientMessage;
    readonly named: { readonly name: string } | null;
    readonly fault: { readonly code: string; readonly rpcCode: number } | null;
    readonly serverError: ServerError | null;
  }[],
): TracedMessage[] {
  return calls
    .filter(({ message }) => message.kind === 'request')
    .map(({ message: { method, id }, named, fault, serverError }) => {
      const { code = null, rpcCode = null } = fault ?? serverError ?? {};
      return { method, id, name: named?.name ?? null, errorType: code, rpcCode };
    });
}

export interface TracedMcpRequest {
  readonly trace: McpTrace;
  readonly requestId: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly durationMs: number;
  readonly version: string | null;
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly apiKeyId: string | null;
  readonly server: string;
  readonly messages: readonly TracedMessage[];
  /** The call of the server; null when nothing was sent. Its time is relative to the start. */
  readonly call: { readonly origin: string; readonly sentMs: number } | null;
}

export function mcpSpans(request: TracedMcpRequest): SpanEntry {
  const { messages, call } = request;
  return {
    count: messages.length + Number(call !== null),
    encode: () => {
      const spans = messages.map((message, at) => messageSpan(request, message, at === 0));
      const [first] = messages;
      return call === null || first === undefined
        ? spans
        : [...spans, callSpan(request, call, first)];
    },
  };
}

/** The spans of a batch are siblings. */
function messageSpan(request: TracedMcpRequest, message: TracedMessage, isFirst: boolean): object {
  const { trace, startedAt, durationMs } = request;
  const { parent } = trace;
  return {
    traceId: trace.traceId,
    spanId: isFirst ? trace.spanId : newMcpSpanId(),
    ...(parent === null ? {} : { parentSpanId: parent.spanId }),
    flags: trace.flags | (parent === null ? parentFlags.local : parentFlags.remote),
    name: spanName(message),
    kind: spanKinds.server,
    ...times(startedAt, 0, durationMs),
    attributes: listed({
      ...messageAttributes(request, message),
      'gatewright.request.id': request.requestId,
      'gatewright.organisation.id': request.organisationId,
      'gatewright.workspace.id': request.workspaceId,
      'gatewright.api_key.id': request.apiKeyId,
      'gatewright.mcp.server': request.server,
    }),
    ...(message.errorType === null ? {} : { status: failed }),
  };
}

function callSpan(
  request: TracedMcpRequest,
  { origin, sentMs }: NonNullable<TracedMcpRequest['call']>,
  message: TracedMessage,
): object {
  const { trace, startedAt, durationMs } = request;
  const { hostname, port, protocol } = new URL(origin);
  return {
    traceId: trace.traceId,
    spanId: trace.callSpanId,
    parentSpanId: trace.spanId,
    flags: trace.flags | parentFlags.local,
    name: spanName(message),
    kind: spanKinds.client,
    ...times(startedAt, sentMs, durationMs),
    attributes: listed({
      ...messageAttributes(request, message),
      'server.address': hostname.replace(/^\[|\]$/g, ''),
      'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
    }),
    ...(message.errorType === null ? {} : { status: failed }),
  };
}

function spanName({ method, name }: TracedMessage): string {
  const isNamed = name !== null && method !== 'resources/read';
  return (isNamed ? `${method} ${name}` : method).slice(0, 256);
}

function messageAttributes({ version }: TracedMcpRequest, message: TracedMessage): SpanAttributes {
  const { method, id, name, errorType, rpcCode } = message;
  const nameOf = (wanted: string) => (method === wanted ? name : null);
  return {
    'mcp.method.name': method,
    'mcp.protocol.version': version,
    'mcp.resource.uri': nameOf('resources/read'),
    'gen_ai.operation.name': method === 'tools/call' ? 'execute_tool' : null,
    'gen_ai.tool.name': nameOf('tools/call'),
    'gen_ai.prompt.name': nameOf('prompts/get'),
    'jsonrpc.request.id': id === null ? null : String(id),
    'rpc.response.status_code': rpcCode === null ? null : String(rpcCode),
    'error.type': errorType,
    'network.transport': 'tcp',
    'network.protocol.name': 'http',
  };
}
