/** Collects the spans of one request: its own, and one for each call of a provider. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { monotonicMs } from '../../monotonic.ts';
import type { CallRequest } from '../../upstream/call.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import type { RequestRecord } from './request-record.ts';
import { type RequestSettings, requestSettings } from './request-settings.ts';
import { isSampled, type SamplerTerms } from './sampler.ts';
import { readTraceParent, sampledFlag, type TraceParent, traceParentText } from './trace-parent.ts';

/** A finished request. Contains only names and counts of what callers and providers sent. */
export interface TracedRequest {
  readonly trace: RequestTrace;
  readonly record: Omit<RequestRecord, 'metadata'>;
  /** False when the caller had gone before there was a response. */
  readonly isAnswered: boolean;
}

/** One call of a provider; times in milliseconds since the request began. */
export class CallSpan {
  readonly spanId = newSpanId();
  /** For example `openai`, also for a provider of a workspace. */
  readonly service: string;
  readonly endpoint: string;
  readonly model: string | null;
  readonly method: string;
  readonly origin: string;
  readonly targetPath: string;
  readonly settings: RequestSettings;
  readonly beganMs: number;
  readonly #requestBeganMs: number;
  #endedMs: number | null = null;
  #status = 0;
  #errorType: string | null = null;

  constructor(target: ResolvedTarget, requestBeganMs: number) {
    const { pricing, endpoint, model, call, path, params } = target;
    this.service = pricing.service;
    this.endpoint = endpoint;
    this.model = model;
    this.method = call.method;
    this.origin = call.origin;
    this.targetPath = path;
    this.settings = requestSettings(params);
    this.#requestBeganMs = requestBeganMs;
    this.beganMs = monotonicMs() - requestBeganMs;
  }

  /** `status` is 0 when no response began; `errorType` is null when it was complete. */
  end(status: number, errorType: string | null): void {
    this.#endedMs = monotonicMs() - this.#requestBeganMs;
    this.#status = status;
    this.#errorType = errorType;
  }

  /** Null for a call that continues after the request. */
  get endedMs(): number | null {
    return this.#endedMs;
  }

  get status(): number {
    return this.#status;
  }

  get errorType(): string | null {
    return this.#errorType;
  }
}

export class RequestTrace {
  /** Span of the caller; null when the trace begins here. */
  readonly parent: TraceParent | null;
  readonly traceId: string;
  readonly spanId = newSpanId();
  readonly flags: number;
  readonly method: string;
  readonly calls: CallSpan[] = [];
  readonly #beganMs: number;

  /** @param beganMs monotonic clock, milliseconds */
  constructor(parent: TraceParent | null, traceId: string, method: string, beganMs: number) {
    this.parent = parent;
    this.traceId = traceId;
    this.flags = (parent?.flags ?? 0) | sampledFlag;
    this.method = method;
    this.#beganMs = beganMs;
  }

  begin(target: ResolvedTarget): CallSpan {
    const span = new CallSpan(target, this.#beganMs);
    this.calls.push(span);
    return span;
  }

  /** Adds the trace headers, so that spans of the provider become children of `span`. */
  withTraceHeaders({ spanId }: CallSpan, request: CallRequest): CallRequest {
    const { traceId, flags, parent } = this;
    const { tracestate, ...others } = request.headers;
    const headers = { ...others, traceparent: traceParentText({ traceId, spanId, flags }) };
    // `tracestate` is only meaningful together with a parent.
    const hasState = parent !== null && tracestate !== undefined;
    return { ...request, headers: hasState ? { ...headers, tracestate } : headers };
  }
}

/** Null for a request that is not sampled. */
export function beginTrace(
  { headers, method }: IncomingMessage,
  beganMs: number,
  sampler: SamplerTerms,
): RequestTrace | null {
  const parent = readTraceParent(headers.traceparent);
  const traceId = parent?.traceId ?? randomBytes(16).toString('hex');
  return isSampled(sampler, parent, traceId)
    ? new RequestTrace(parent, traceId, method!, beganMs)
    : null;
}

function newSpanId(): string {
  return randomBytes(8).toString('hex');
}
