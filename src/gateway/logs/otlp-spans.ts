/** Encodes spans as OTLP JSON. Attributes are names and counts, never contents of requests. */
import { endpointRoute } from '../../model/endpoints/catalogue.ts';
import { genAiOperation, genAiProvider } from './gen-ai-names.ts';
import type { CallSpan, TracedRequest } from './request-trace.ts';

/** The service that sends the spans. */
export interface SpanSource {
  readonly name: string;
  readonly version: string;
}

type Attributes = Readonly<Record<string, string | number | boolean | null>>;

const kinds = { server: 2, client: 3 } as const;
const failed = { code: 2 };
/** Span flags: the location of the parent is known, and whether it is remote. */
const parentFlags = { local: 0x100, remote: 0x300 } as const;
/** Bounds names that callers and configs choose. */
const textCharsMax = 256;
const methods = new Set([
  'CONNECT',
  'DELETE',
  'GET',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
  'TRACE',
  'QUERY',
]);

/** The body of a request to a collector. */
export function exportRequest(source: SpanSource, traced: readonly TracedRequest[]): Buffer {
  const resource = { 'service.name': source.name, 'service.version': source.version };
  const spans = traced.flatMap((one) => [
    requestSpan(one),
    ...one.trace.calls.map((call) => callSpan(one, call)),
  ]);
  const scope = { name: 'gatewright', version: source.version };
  const resourceSpans = [
    { resource: { attributes: listed(resource) }, scopeSpans: [{ scope, spans }] },
  ];
  return Buffer.from(JSON.stringify({ resourceSpans }));
}

function requestSpan({ trace, record, isAnswered }: TracedRequest): object {
  const { traceId, spanId, parent, flags } = trace;
  const { status, errorCode } = record;
  const method = methodOf(trace.method);
  const route = endpointRoute(record.endpoint);
  const hasFailed = !isAnswered || status >= 500 || (status < 400 && errorCode !== null);
  return {
    traceId,
    spanId,
    ...(parent === null ? {} : { parentSpanId: parent.spanId }),
    flags: flags | (parent === null ? parentFlags.local : parentFlags.remote),
    name: `${method === '_OTHER' ? 'HTTP' : method} ${route}`,
    kind: kinds.server,
    ...times(record.startedAt, 0, record.durationMs),
    attributes: listed({
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': isAnswered ? status : null,
      'url.scheme': 'http',
      'error.type': hasFailed ? (errorCode ?? (isAnswered ? String(status) : 'cancelled')) : null,
      'gen_ai.request.model': record.requestedModel,
      ...ownAttributes(record),
    }),
    ...(hasFailed ? { status: failed } : {}),
  };
}

function ownAttributes(record: TracedRequest['record']): Attributes {
  return {
    'gatewright.request.id': record.id,
    'gatewright.endpoint': record.endpoint,
    'gatewright.organisation.id': record.organisationId,
    'gatewright.workspace.id': record.workspaceId,
    'gatewright.api_key.id': record.apiKeyId,
    'gatewright.config.id': record.configId,
    'gatewright.provider': record.provider,
    'gatewright.model': record.model,
    'gatewright.target': record.targetPath,
    'gatewright.retries': record.retries,
    'gatewright.cache.status': record.cacheStatus,
    'gatewright.stream': record.isStream,
    'gatewright.first_byte_ms': record.firstByteMs,
    'gatewright.cost_micro_usd': record.costUnits,
    'gatewright.usage.estimated': record.tokens === null ? null : record.isEstimated,
    'gatewright.error.code': record.errorCode,
  };
}

function callSpan({ trace, record }: TracedRequest, call: CallSpan): object {
  const { service, endpoint, model, status } = call;
  const { hostname, port, protocol } = new URL(call.origin);
  const operation = genAiOperation(endpoint);
  const method = methodOf(call.method);
  const errorType = status >= 400 ? String(status) : call.errorType;
  return {
    traceId: trace.traceId,
    spanId: call.spanId,
    parentSpanId: trace.spanId,
    flags: trace.flags | parentFlags.local,
    name: callName(operation, model, method),
    kind: kinds.client,
    ...times(record.startedAt, call.beganMs, call.endedMs ?? record.durationMs),
    attributes: listed({
      'http.request.method': method,
      'http.response.status_code': status === 0 ? null : status,
      'server.address': hostname.replace(/^\[|\]$/g, ''),
      'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
      'error.type': errorType,
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': operation === null ? null : genAiProvider(service),
      'gen_ai.request.model': model,
      ...(operation === null ? {} : call.settings),
      ...(isCharged(record, trace.calls, call) ? answerAttributes(record, call) : {}),
      'gatewright.target': call.targetPath,
    }),
    ...(errorType === null ? {} : { status: failed }),
  };
}

/** Whether the usage of the request belongs to this call: the last one, if it succeeded. */
function isCharged(
  { cacheStatus }: TracedRequest['record'],
  calls: readonly CallSpan[],
  call: CallSpan,
): boolean {
  const isAnswered = call.status >= 200 && call.status < 300;
  return isAnswered && call === calls.at(-1) && cacheStatus !== 'HIT';
}

function answerAttributes(
  { tokens, answeredModel, isStream, firstByteMs }: TracedRequest['record'],
  { beganMs }: CallSpan,
): Attributes {
  const firstMs = isStream && firstByteMs !== null ? firstByteMs - beganMs : null;
  const attributes = {
    'gen_ai.response.model': answeredModel,
    'gen_ai.response.time_to_first_chunk': firstMs === null ? null : firstMs / 1000,
  };
  if (tokens === null) return attributes;
  return {
    ...attributes,
    'gen_ai.usage.input_tokens': tokens.inputTokens,
    'gen_ai.usage.output_tokens': tokens.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': tokens.cachedInputTokens,
    'gen_ai.usage.cache_creation.input_tokens': tokens.cacheWriteTokens,
  };
}

function callName(operation: string | null, model: string | null, method: string): string {
  if (operation === null) return method === '_OTHER' ? 'HTTP' : method;
  return model === null ? operation : `${operation} ${cut(model)}`;
}

function methodOf(method: string): string {
  return methods.has(method) ? method : '_OTHER';
}

/** Converts to nanoseconds since the epoch. `startedAt` in milliseconds since the epoch, the others relative to it. */
function times(startedAt: number, beganMs: number, endedMs: number) {
  return {
    startTimeUnixNano: nanoseconds(startedAt + beganMs),
    endTimeUnixNano: nanoseconds(startedAt + Math.max(beganMs, endedMs)),
  };
}

/** Rounds to microseconds, which a number represents exactly. */
function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1000)}000`;
}

/** Lists the attributes that have a value. */
function listed(attributes: Attributes): object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === null ? [] : [{ key, value: attributeValue(key, value) }],
  );
}

/** Attributes that are doubles by the conventions, even for whole values. */
const doubles = new Set([
  ...['temperature', 'top_p', 'top_k', 'frequency_penalty', 'presence_penalty'].map(
    (name) => `gen_ai.request.${name}`,
  ),
  'gen_ai.response.time_to_first_chunk',
]);

function attributeValue(key: string, value: string | number | boolean): object {
  if (typeof value === 'string') return { stringValue: cut(value) };
  if (typeof value === 'boolean') return { boolValue: value };
  // Collectors reject a whole batch when one integer exceeds 64 bits.
  const isWhole = Number.isSafeInteger(value) && !doubles.has(key);
  return isWhole ? { intValue: String(value) } : { doubleValue: value };
}

/** Truncates without leaving half a surrogate pair, which is invalid UTF-8. */
function cut(text: string): string {
  return text.slice(0, textCharsMax).toWellFormed();
}
