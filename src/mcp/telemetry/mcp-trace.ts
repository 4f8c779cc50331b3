/** Records the trace of an MCP request: its place among the spans of its caller, and the call of the server. */
import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isSampled, type SamplerTerms } from '../../gateway/logs/sampler.ts';
import {
  readTraceParent,
  sampledFlag,
  type TraceParent,
  traceParentText,
} from '../../gateway/logs/trace-parent.ts';
import { isObject } from '../../model/json/read-object.ts';
import type { ClientMessage } from '../messages/read-messages.ts';

export class McpTrace {
  /** Span of the caller; null when the trace begins here. */
  readonly parent: TraceParent | null;
  readonly traceId: string;
  readonly flags: number;
  /** Span of the first message, which is the parent of the call of the server. */
  readonly spanId = newMcpSpanId();
  readonly callSpanId = newMcpSpanId();

  constructor(parent: TraceParent | null, traceId: string) {
    this.parent = parent;
    this.traceId = traceId;
    this.flags = (parent?.flags ?? 0) | sampledFlag;
  }

  /** The header with which spans of the server become children of the call. */
  get traceParent(): string {
    const { traceId, callSpanId: spanId, flags } = this;
    return traceParentText({ traceId, spanId, flags });
  }
}

/** The caller's span is in a header, or in `_meta` of the first message. Null for a request that is not sampled. */
export function beginMcpTrace(
  sampler: SamplerTerms,
  { traceparent }: IncomingHttpHeaders,
  first: ClientMessage,
): McpTrace | null {
  const { _meta: meta } = first.params;
  const parent =
    readTraceParent(traceparent) ?? (isObject(meta) ? readTraceParent(meta.traceparent) : null);
  const traceId = parent?.traceId ?? randomBytes(16).toString('hex');
  return isSampled(sampler, parent, traceId) ? new McpTrace(parent, traceId) : null;
}

export function newMcpSpanId(): string {
  return randomBytes(8).toString('hex');
}
