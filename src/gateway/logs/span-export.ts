/** Knows how spans come to a collector: off the way of requests, many at once, within bounds, and none lost without being counted. */
import { setTimeout as delay } from 'node:timers/promises';
import { Pools } from '../../remote/pools.ts';
import type { Proxies } from '../../remote/proxies.ts';
import type { Secret } from '../../secret.ts';
import { exportRequest, type SpanSource } from './otlp-spans.ts';
import type { RequestRecord } from './request-record.ts';
import type { RequestTrace, TracedRequest } from './request-trace.ts';
import type { SamplerTerms } from './sampler.ts';

export interface SpanExportOptions {
  readonly source: SpanSource;
  /** Which requests are recorded. */
  readonly sampler: SamplerTerms;
  /** Where a collector takes traces by OTLP/HTTP. */
  readonly url: URL;
  readonly headers: Secret<Readonly<Record<string, string>>> | undefined;
  readonly proxies: Proxies | null;
  /** Told of every loss, in words that hold nothing of what was sent. */
  readonly onLoss: (reason: string, spans: number) => void;
  readonly bounds?: Partial<SpanExportBounds>;
}

export interface SpanExportBounds {
  /** Spans that may wait, those that are on their way among them. */
  readonly waitingMax: number;
  /** Longest that one waits while the collector keeps up. */
  readonly flushEveryMs: number;
  /** Before a second try, about; twice as long before each further one. */
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
  ...{ waitingMax: 20_000, flushEveryMs: 1_000 },
  ...{ retryMs: 1_000, triesMax: 5, answerTimeoutMs: 10_000 },
};
/** Of a batch, about: so few that nobody notices when they are written. */
const batchSpansMax = 256;
const connectTimeoutMs = 5_000;
const answerBytesMax = 64 * 1024;
const retryMsMax = 30_000;
/** What the protocol says may be tried again. */
const laterStatuses = new Set([429, 502, 503, 504]);

/** What came of one try. */
type Delivery =
  | { readonly kind: 'taken'; readonly refusedSpans: number }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'later'; readonly reason: string; readonly afterMs: number | null };

/** {@link add} takes what happened; {@link close} sends what waits. */
export class SpanExport {
  readonly sampler: SamplerTerms;
  readonly #options: SpanExportOptions;
  readonly #bounds: SpanExportBounds;
  readonly #pools: Pools;
  #waiting: TracedRequest[] = [];
  /** Of {@link #waiting} and of what is being sent. */
  #count = 0;
  #exported = 0;
  #lost = 0;
  #timer: NodeJS.Timeout | null = null;
  #sending: Promise<void> | null = null;
  readonly #givesUp = new AbortController();

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

  /** Takes a request that is over, without what its metadata say. */
  add(trace: RequestTrace, { metadata: _, ...record }: RequestRecord, isAnswered: boolean): void {
    const { waitingMax, flushEveryMs } = this.#bounds;
    const traced = { trace, record, isAnswered };
    const spans = spansOf(traced);
    if (this.#count + spans > waitingMax || this.#givesUp.signal.aborted) {
      this.#lose('more came than the collector takes', spans);
      return;
    }
    this.#waiting.push(traced);
    this.#count += spans;
    if (this.#count >= batchSpansMax) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), flushEveryMs).unref();
  }

  figures(): SpanFigures {
    return { exported: this.#exported, lost: this.#lost, waiting: this.#count };
  }

  /** Sends what waits, for as long as it may take; what is left then is lost, counted and told. */
  async close(withinMs: number): Promise<void> {
    const clock = setTimeout(() => this.#givesUp.abort(), withinMs);
    while (this.#count > 0 && !this.#givesUp.signal.aborted) {
      this.#send();
      await this.#sending;
    }
    clearTimeout(clock);
    this.#givesUp.abort();
    await this.#pools.destroy();
    if (this.#count > 0) this.#lose('the collector did not take them before the end', this.#count);
    this.#count = 0;
    this.#waiting = [];
  }

  #lose(reason: string, spans: number): void {
    this.#lost += spans;
    this.#options.onLoss(reason, spans);
  }

  /** Begins, unless it is being done; goes on until nothing waits. */
  #send(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null;
    });
  }

  async #sendAll(): Promise<void> {
    // Where it was asked for is the way of a request.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0 && !this.#givesUp.signal.aborted) {
      const batch = this.#take();
      const spans = batch.reduce((sum, one) => sum + spansOf(one), 0);
      const end = await this.#deliver(exportRequest(this.#options.source, batch));
      if (end === null) return;
      this.#count -= spans;
      const lost = end.kind === 'taken' ? Math.min(spans, end.refusedSpans) : spans;
      this.#exported += spans - lost;
      const reason = end.kind === 'taken' ? 'the collector refused some of them' : end.reason;
      if (lost > 0) this.#lose(reason, lost);
    }
  }

  /** The oldest that wait. */
  #take(): TracedRequest[] {
    let spans = 0;
    const beyond = this.#waiting.findIndex((one) => {
      spans += spansOf(one);
      return spans > batchSpansMax;
    });
    return this.#waiting.splice(0, beyond < 0 ? this.#waiting.length : Math.max(1, beyond));
  }

  /** Null where it is given up on. */
  async #deliver(body: Buffer): Promise<Delivery | null> {
    const { retryMs, triesMax } = this.#bounds;
    const { signal } = this.#givesUp;
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
    const signal = AbortSignal.any([this.#givesUp.signal, clock]);
    try {
      const pool = this.#pools.poolFor(origin);
      const request = { origin, path: pathname, method: 'POST' as const, headers, body, signal };
      const answer = await pool.request(request);
      const text = await answer.body.text().catch(() => '');
      return deliveryOf(answer.statusCode, answer.headers, text);
    } catch (error) {
      const { code } = error as { readonly code?: unknown };
      const fault = typeof code === 'string' ? code : 'no answer';
      const reason = `the collector cannot be reached (${fault})`;
      return { kind: 'later', reason, afterMs: null };
    }
  }
}

function spansOf({ trace }: TracedRequest): number {
  return 1 + trace.calls.length;
}

function deliveryOf(
  status: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  text: string,
): Delivery {
  if (status >= 200 && status < 300) return { kind: 'taken', refusedSpans: refusedSpansIn(text) };
  const reason = `the collector answered with ${status}`;
  if (!laterStatuses.has(status)) return { kind: 'refused', reason };
  const after = Number(headers['retry-after'] ?? Number.NaN);
  return { kind: 'later', reason, afterMs: after >= 0 ? after * 1000 : null };
}

/** A collector that takes a part of a batch says how many it did not. */
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
