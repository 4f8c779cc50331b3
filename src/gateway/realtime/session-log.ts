/** Logs a session when it ends, and each of its responses; both as entries with the id of the session. */
import {
  addJudgement,
  type JudgementRecord,
  nothingJudged,
} from '../../guardrails/check-records.ts';
import { type Judgement, verdictOf } from '../../guardrails/evaluate.ts';
import { type GuardrailVerdict, worseVerdict } from '../../model/logs/request-log.ts';
import { monotonicMs } from '../../monotonic.ts';
import type { GatewayServices } from '../calls/request-context.ts';
import type { RequestRecord } from '../logs/request-record.ts';
import { RequestTrace } from '../logs/request-trace.ts';
import type { MeteredUsage } from '../metering/meter.ts';
import type { GatewayError } from '../transfer/gateway-error.ts';
import type { SessionTerms } from './session-terms.ts';

/** Status of the entry of a session that was opened. */
const sessionStatus = 101;

/** How a request or a part of a session ended. */
interface Ending {
  readonly status: number;
  /** Code of the gateway's own error; null for none. */
  readonly errorCode: string | null;
}

export interface LoggedResponse extends Ending {
  /** Monotonic clock, milliseconds. */
  readonly beganMs: number;
  /** When its first event arrived; null for none. */
  readonly firstEventMs: number | null;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly metered: MeteredUsage | null;
  readonly verdict: GuardrailVerdict | null;
  readonly judged: JudgementRecord;
}

const none: readonly never[] = [];

type LogServices = Pick<GatewayServices, 'record' | 'spanExport'>;

export class SessionLog {
  readonly #services: LogServices;
  readonly #startedAt: number;
  readonly #beganMs: number;
  /** Null when the session is not traced. */
  readonly #trace: RequestTrace | null;
  #verdict: GuardrailVerdict | null = null;
  #judged = nothingJudged;

  constructor(
    services: LogServices,
    began: { readonly startedAt: number; readonly beganMs: number },
    trace: RequestTrace | null,
  ) {
    this.#services = services;
    this.#startedAt = began.startedAt;
    this.#beganMs = began.beganMs;
    this.#trace = trace;
  }

  /** Adds a judgement of what belongs to no response; the worst is logged with the session. */
  addJudgement(judgement: Judgement): void {
    const verdict = verdictOf(judgement);
    if (verdict === null) return;
    this.#verdict = worseVerdict(this.#verdict, verdict);
    this.#judged = addJudgement(this.#judged, judgement);
  }

  addResponse(terms: SessionTerms, response: LoggedResponse): void {
    const { beganMs, firstEventMs, startedAt } = response;
    const record = recordOf(terms, {
      ...response,
      startedAt,
      durationMs: monotonicMs() - beganMs,
      firstByteMs: firstEventMs === null ? null : firstEventMs - beganMs,
    });
    this.#services.record(record);
    const { spanExport } = this.#services;
    if (this.#trace === null || spanExport === null) return;
    const { traceId, spanId, flags } = this.#trace;
    const trace = new RequestTrace({ traceId, spanId, flags }, traceId, 'GET', beganMs);
    if (response.metered !== null) {
      trace.begin(terms.target).end(response.status, response.errorCode);
    }
    spanExport.add(trace, record, true);
  }

  /** Adds a response that a limit refuses. */
  addRefused(
    terms: SessionTerms,
    { status, code }: GatewayError,
    times: Pick<LoggedResponse, 'beganMs' | 'startedAt'>,
  ): void {
    const empty = { firstEventMs: null, metered: null, verdict: null, judged: nothingJudged };
    this.addResponse(terms, { ...times, ...empty, status, errorCode: code });
  }

  /** `errorCode` is the code of the gateway's own error; null for none. */
  end(terms: SessionTerms, errorCode: string | null): void {
    const record = recordOf(terms, {
      status: sessionStatus,
      errorCode,
      startedAt: this.#startedAt,
      durationMs: monotonicMs() - this.#beganMs,
      firstByteMs: null,
      metered: null,
      verdict: this.#verdict,
      judged: this.#judged,
    });
    this.#services.record(record);
    if (this.#trace !== null) this.#services.spanExport?.add(this.#trace, record, true);
  }
}

type Entry = Ending &
  Pick<LoggedResponse, 'startedAt' | 'metered' | 'verdict' | 'judged'> &
  Pick<RequestRecord, 'durationMs' | 'firstByteMs'>;

function recordOf({ exchange, config, target }: SessionTerms, entry: Entry): RequestRecord {
  const { key, params, metadata } = exchange;
  const { metered } = entry;
  return {
    id: exchange.id,
    startedAt: entry.startedAt,
    durationMs: entry.durationMs,
    firstByteMs: entry.firstByteMs,
    organisationId: key.organisationId,
    workspaceId: key.workspace?.id ?? null,
    apiKeyId: key.id,
    configId: config.id,
    promptSlug: null,
    endpoint: 'realtime',
    status: entry.status,
    provider: target.provider,
    service: target.pricing.service,
    requestedModel: typeof params.model === 'string' ? params.model : null,
    model: target.model,
    answeredModel: null,
    targetPath: target.path,
    targetSelection: null,
    retries: 0,
    cacheStatus: null,
    guardrailVerdict: entry.verdict,
    guardrails: entry.judged.verdicts,
    guardrailChecks: entry.judged.checks,
    droppedMembers: none,
    isStream: true,
    tokens: metered?.usage ?? null,
    costUnits: metered?.costUnits ?? null,
    isEstimated: metered?.isEstimated ?? false,
    priceOrigin: metered?.priceOrigin ?? null,
    openCharge: null,
    earlierAttempts: none,
    errorCode: entry.errorCode,
    mcp: null,
    metadata,
  };
}
