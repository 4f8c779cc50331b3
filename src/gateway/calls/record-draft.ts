/** Collects what the log entry of a request needs while the request is served. */
import { addJudgement, nothingJudged } from '../../guardrails/check-records.ts';
import { type Judgement, verdictOf } from '../../guardrails/evaluate.ts';
import { endpointOf } from '../../model/endpoints/catalogue.ts';
import { type GuardrailVerdict, worseVerdict } from '../../model/logs/request-log.ts';
import { monotonicMs } from '../../monotonic.ts';
import type { OpenChargeKey } from '../../store/logs/open-charges.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { GatewayKey } from '../callers/gateway-key.ts';
import type { EarlierAttempt, RequestRecord } from '../logs/request-record.ts';
import type { RequestTrace } from '../logs/request-trace.ts';
import type { MeteredUsage } from '../metering/meter.ts';
import type { GatewayConfig } from '../targets/resolve-config.ts';
import type { CapturedStream } from '../transfer/captured-stream.ts';
import type { GatewayError } from '../transfer/gateway-error.ts';
import { addActiveRequest, removeActiveRequest } from '../transfer/turn-batches.ts';
import type { ChargedCall } from './charged-calls.ts';
import { isStreamed, type LiveOutcome, type TargetOutcome } from './outcome.ts';
import type { ProviderCalls } from './provider-calls.ts';

const none: readonly never[] = [];

export class RecordDraft {
  readonly id: string;
  /** Path below `/v1`. */
  readonly path: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Monotonic clock, milliseconds. */
  readonly beganMs: number;
  /** Null when the request is not traced. */
  readonly trace: RequestTrace | null;
  key: GatewayKey | null = null;
  exchange: Exchange | null = null;
  config: GatewayConfig | null = null;
  promptSlug: string | null = null;
  calls: ProviderCalls | null = null;
  outcome: TargetOutcome | null = null;
  /** From the arrival of the request to the first byte of its response. */
  firstByteMs: number | null = null;
  metered: MeteredUsage | null = null;
  openCharge: OpenChargeKey | null = null;
  error: GatewayError | null = null;
  #judged = nothingJudged;
  /** Verdict on a stream after its end. */
  #observed: GuardrailVerdict | null = null;
  /** Resolves when guardrails have judged a copy of the stream; null when none do. */
  #observation: Promise<void> | null = null;
  /** Whether other requests still wait for steps of this one (gateway/transfer/turn-batches.ts). */
  #isActive: boolean;

  /** `takesTurns` is false for internal calls, which other requests do not wait for. */
  constructor(
    { id, path, beganMs }: { readonly id: string; readonly path: string; readonly beganMs: number },
    startedAt: number,
    trace: RequestTrace | null,
    takesTurns: boolean,
  ) {
    this.id = id;
    this.path = path;
    this.beganMs = beganMs;
    this.startedAt = startedAt;
    this.trace = trace;
    this.#isActive = takesTurns;
    if (takesTurns) addActiveRequest();
  }

  /** Adds the verdicts of guardrails and checks; of several by one the worst is logged. */
  addVerdicts(judgement: Pick<Judgement, 'verdicts' | 'checks'>): void {
    this.#judged = addJudgement(this.#judged, judgement);
  }

  /** Begins the judgement of a stream whose events the caller has received. */
  observe({ observer }: Pick<LiveOutcome, 'observer'>, captured: CapturedStream | null): void {
    if (captured !== null) this.#observation = observer!(captured.body);
  }

  /** Adds a judgement that came after the response. */
  addObserved(judgement: Judgement): void {
    this.#observed = worseVerdict(this.#observed, verdictOf(judgement));
    this.addVerdicts(judgement);
  }

  /** Resolves when everything that the log entry contains is known. Rejects when an observer fails. */
  get observation(): Promise<void> | null {
    return this.#observation;
  }

  /** Marks that the response has begun or the request has ended; later calls do nothing. */
  markResponded(): void {
    if (!this.#isActive) return;
    this.#isActive = false;
    removeActiveRequest();
  }

  setOutcome(outcome: TargetOutcome): void {
    this.markResponded();
    this.outcome = outcome;
    this.metered = outcome.kind === 'failed' ? outcome.metered : null;
  }

  /** Sets the time to the first byte to now. */
  markFirstByte(): void {
    this.firstByteMs = monotonicMs() - this.beganMs;
  }

  /** Builds the log entry of a finished request; `status` is the one that the caller received. */
  toRecord(status: number): RequestRecord {
    const { key, exchange, config, calls, outcome } = this;
    // A call without a response is metered when it is given up.
    const metered = this.metered ?? (outcome && calls?.charged.lost) ?? null;
    return {
      id: this.id,
      startedAt: this.startedAt,
      firstByteMs: this.firstByteMs,
      durationMs: monotonicMs() - this.beganMs,
      organisationId: key?.organisationId ?? null,
      workspaceId: key?.workspace?.id ?? null,
      apiKeyId: key?.id ?? null,
      configId: config?.id ?? null,
      promptSlug: this.promptSlug,
      endpoint: endpointOf(exchange?.path ?? this.path),
      status,
      provider: outcome?.target.provider ?? null,
      service: outcome?.target.pricing.service ?? null,
      requestedModel: textOrNull(exchange?.params.model),
      model: outcome?.target.model ?? null,
      answeredModel: metered?.model ?? null,
      targetPath: outcome?.target.path ?? null,
      targetSelection: outcome?.selection ?? null,
      retries: outcome?.retries ?? 0,
      cacheStatus: outcome?.cacheStatus ?? null,
      guardrailVerdict: worseVerdict(outcome?.verdict ?? null, this.#observed),
      guardrails: this.#judged.verdicts,
      guardrailChecks: this.#judged.checks,
      droppedMembers: outcome?.target.translator?.dropped ?? none,
      isStream: outcome !== null && isStreamed(outcome),
      tokens: metered?.usage ?? null,
      costUnits: metered?.costUnits ?? null,
      isEstimated: metered?.isEstimated ?? false,
      priceOrigin: metered?.priceOrigin ?? null,
      openCharge: this.openCharge,
      earlierAttempts: earlierAttemptsOf(calls?.charged.except(metered)),
      errorCode: this.error?.code ?? null,
      mcp: null,
      metadata: exchange?.metadata ?? {},
    };
  }
}

function earlierAttemptsOf(charged: readonly ChargedCall[] = none): readonly EarlierAttempt[] {
  if (charged.length === 0) return none;
  return charged.map(({ outcome: { target, status }, metered }) => ({
    provider: target.provider,
    service: target.pricing.service,
    model: target.model,
    targetPath: target.path,
    status,
    tokens: metered.usage,
    costUnits: metered.costUnits,
    isEstimated: metered.isEstimated,
    priceOrigin: metered.priceOrigin,
  }));
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
