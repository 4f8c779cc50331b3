/** Encodes the spans of model requests. SpanAttributes are names and counts, never contents of requests. */
import { endpointRoute } from '../../model/endpoints/catalogue.ts';
import { genAiOperation, genAiProvider } from './gen-ai-names.ts';
import {
  cut,
  failed,
  listed,
  parentFlags,
  type SpanAttributes,
  spanKinds,
  times,
} from './otlp-encoding.ts';
import type { CallSpan, TracedRequest } from './request-trace.ts';

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

/** The span of a request, and those of its calls. */
export function requestSpans(traced: TracedRequest): object[] {
  return [requestSpan(traced), ...traced.trace.calls.map((call) => callSpan(traced, call))];
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
    kind: spanKinds.server,
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

function ownAttributes(record: TracedRequest['record']): SpanAttributes {
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
    kind: spanKinds.client,
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
  return isAnswered && call === calls.at(-1) && cacheStatus?.endsWith('HIT') !== true;
}

function answerAttributes(
  { tokens, answeredModel, isStream, firstByteMs }: TracedRequest['record'],
  { beganMs }: CallSpan,
): SpanAttributes {
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
