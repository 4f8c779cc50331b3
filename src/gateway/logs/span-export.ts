/**
 * Exports spans to a collector in batches in the background, within memory bounds; counts every loss.
 *
 * Written by hand instead of using the OTLP exporter of OpenTelemetry, which has its own HTTP client and so bypasses the
 * operator's proxy pools, and which needs the SDK's span objects where one record per request is enough here.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Pools } from '../../remote/pools.ts';
import type { Proxies } from '../../remote/proxies.ts';
import type { Secret } from '../../secret.ts';
import { exportRequest, type SpanEntry, type SpanSource } from './otlp-encoding.ts';
import { requestSpans } from './otlp-spans.ts';
import type { RequestRecord } from './request-record.ts';
import type { RequestTrace } from './request-trace.ts';
import type { SamplerTerms } from './sampler.ts';

export interface SpanExportOptions {
  readonly source: SpanSource;
  readonly sampler: SamplerTerms;
  /** OTLP/HTTP traces endpoint of the collector. */
  readonly url: URL;
  readonly headers: Secret<Readonly<Record<string, string>>> | undefined;
  readonly proxies: Proxies | null;
  /** Reports every loss, without any data of the spans. */
  readonly onLoss: (reason: string, spans: number) => void;
  readonly bounds?: Partial<SpanExportBounds>;
}

export interface SpanExportBounds {
  /** Bound of queued spans, including those being sent. */
  readonly waitingMax: number;
  /** Longest wait of a span while the collector keeps up. */
  readonly flushEveryMs: number;
  /** Approximate wait before the first retry; doubles with each further one. */
  readonly retryMs: number;
  readonly triesMax: number;
  readonly answerTimeoutMs: number;
}

export interface SpanFigures {
  readonly exported: number;
  readonly lost: number;
  readonly waiting: number;
}

const usualBounds: SpanExportBounds = {
  waitingMax: 20_000,
  flushEveryMs: 1_000,
  retryMs: 1_000,
  triesMax: 5,
  answerTimeoutMs: 10_000,
};
/** Approximate batch size, small enough that encoding it does not delay requests. */
const batchSpansMax = 256;
const connectTimeoutMs = 5_000;
const answerBytesMax = 64 * 1024;
const retryMsMax = 30_000;
/** Statuses that the protocol permits to retry. */
const laterStatuses = new Set([429, 502, 503, 504]);

/** Result of one try. */
type Delivery =
  | { readonly kind: 'accepted'; readonly refusedSpans: number }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'later'; readonly reason: string; readonly afterMs: number | null };

export class SpanExport {
  readonly sampler: SamplerTerms;
  readonly #options: SpanExportOptions;
  readonly #bounds: SpanExportBounds;
  readonly #pools: Pools;
  #waiting: SpanEntry[] = [];
  /** Spans in `#waiting` and in the batch being sent. */
  #count = 0;
  #exported = 0;
  #lost = 0;
  #timer: NodeJS.Timeout | null = null;
  #sending: Promise<void> | null = null;
  readonly #abort = new AbortController();

  constructor(options: SpanExportOptions) {
    this.sampler = options.sampler;
    this.#options = options;
    this.#bounds = { ...usualBounds, ...options.bounds };
    const { answerTimeoutMs } = this.#bounds;
    const limits = {
      connectionsMax: 1,
      connectTimeoutMs,
      responseTimeoutMs: answerTimeoutMs,
      responseBytesMax: answerBytesMax,
    };
    this.#pools = new Pools(limits, options.proxies);
  }

  /** Adds a finished request, without its metadata. */
  add(trace: RequestTrace, { metadata: _, ...record }: RequestRecord, isAnswered: boolean): void {
    const traced = { trace, record, isAnswered };
    this.addEntry({ count: 1 + trace.calls.length, encode: () => requestSpans(traced) });
  }

  addEntry(entry: SpanEntry): void {
    const { waitingMax, flushEveryMs } = this.#bounds;
    const { count: spans } = entry;
    if (this.#count + spans > waitingMax || this.#abort.signal.aborted) {
      this.#lose('more came than the collector takes', spans);
      return;
    }
    this.#waiting.push(entry);
    this.#count += spans;
    if (this.#count >= batchSpansMax) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), flushEveryMs).unref();
  }

  figures(): SpanFigures {
    return { exported: this.#exported, lost: this.#lost, waiting: this.#count };
  }

  /** Sends what is queued within the given time; the rest is lost, counted and reported. */
  async close(withinMs: number): Promise<void> {
    const clock = setTimeout(() => this.#abort.abort(), withinMs);
    while (this.#count > 0 && !this.#abort.signal.aborted) {
      this.#send();
      await this.#sending;
    }
    clearTimeout(clock);
    this.#abort.abort();
    await this.#pools.destroy();
    if (this.#count > 0) this.#lose('the collector did not take them before the end', this.#count);
    this.#count = 0;
    this.#waiting = [];
  }

  #lose(reason: string, spans: number): void {
    this.#lost += spans;
    this.#options.onLoss(reason, spans);
  }

  /** Starts sending unless it is already running; continues until the queue is empty. */
  #send(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null;
    });
  }

  async #sendAll(): Promise<void> {
    // Leaves the call stack of the request first.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0 && !this.#abort.signal.aborted) {
      const batch = this.#take();
      const spans = batch.reduce((sum, { count }) => sum + count, 0);
      const end = await this.#deliver(exportRequest(this.#options.source, batch));
      if (end === null) return;
      this.#count -= spans;
      const lost = end.kind === 'accepted' ? Math.min(spans, end.refusedSpans) : spans;
      this.#exported += spans - lost;
      const reason = end.kind === 'accepted' ? 'the collector refused some of them' : end.reason;
      if (lost > 0) this.#lose(reason, lost);
    }
  }

  /** Takes the oldest batch. */
  #take(): SpanEntry[] {
    let spans = 0;
    const beyond = this.#waiting.findIndex((one) => {
      spans += one.count;
      return spans > batchSpansMax;
    });
    return this.#waiting.splice(0, beyond < 0 ? this.#waiting.length : Math.max(1, beyond));
  }

  /** Null when sending is given up. */
  async #deliver(body: Buffer): Promise<Delivery | null> {
    const { retryMs, triesMax } = this.#bounds;
    const { signal } = this.#abort;
    for (let tries = 1; ; tries += 1) {
      const delivery = await this.#post(body);
      if (signal.aborted && delivery.kind === 'later') return null;
      if (delivery.kind !== 'later' || tries >= triesMax) return delivery;
      const waitMs = delivery.afterMs ?? retryMs * 2 ** (tries - 1) * (0.5 + Math.random());
      await delay(Math.min(waitMs, retryMsMax), undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return null;
    }
  }

  async #post(body: Buffer): Promise<Delivery> {
    const { url, headers: own } = this.#options;
    const headers = { ...own?.reveal(), 'content-type': 'application/json' };
    const { origin, pathname } = url;
    const clock = AbortSignal.timeout(this.#bounds.answerTimeoutMs);
    const signal = AbortSignal.any([this.#abort.signal, clock]);
    try {
      const pool = this.#pools.poolFor(origin);
      const request = { origin, path: pathname, method: 'POST' as const, headers, body, signal };
      const answer = await pool.request(request);
      const text = await answer.body.text().catch(() => '');
      return toDelivery(answer.statusCode, answer.headers, text);
    } catch (error) {
      const { code } = error as { readonly code?: unknown };
      const fault = typeof code === 'string' ? code : 'no answer';
      const reason = `the collector cannot be reached (${fault})`;
      return { kind: 'later', reason, afterMs: null };
    }
  }
}

function toDelivery(
  status: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  text: string,
): Delivery {
  if (status >= 200 && status < 300)
    return { kind: 'accepted', refusedSpans: refusedSpansIn(text) };
  const reason = `the collector answered with ${status}`;
  if (!laterStatuses.has(status)) return { kind: 'refused', reason };
  const after = Number(headers['retry-after'] ?? Number.NaN);
  return { kind: 'later', reason, afterMs: after >= 0 ? after * 1000 : null };
}

/** Reads how many spans of a batch the collector rejected. */
function refusedSpansIn(text: string): number {
  try {
    const { partialSuccess } = JSON.parse(text) as {
      readonly partialSuccess?: { readonly rejectedSpans?: unknown };
    };
    const refused = Number(partialSuccess?.rejectedSpans ?? 0);
    return Number.isSafeInteger(refused) && refused > 0 ? refused : 0;
  } catch {
    return 0;
  }
}
