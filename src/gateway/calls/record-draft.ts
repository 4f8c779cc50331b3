/** Collects what the log entry of a request needs while the request is served. */
import { type Judgement, worstOf } from '../../guardrails/evaluate.ts';
import { endpointOf } from '../../model/endpoints/catalogue.ts';
import { monotonicMs } from '../../monotonic.ts';
import type { OpenChargeKey } from '../../store/logs/open-charges.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { GatewayKey } from '../callers/gateway-key.ts';
import type { EarlierAttempt, RequestRecord } from '../logs/request-record.ts';
import type { RequestTrace } from '../logs/request-trace.ts';
import type { MeteredUsage } from '../metering/meter.ts';
import type { GatewayConfig } from '../targets/resolve-config.ts';
import type { GatewayError } from '../transfer/gateway-error.ts';
import { addActiveRequest, removeActiveRequest } from '../transfer/turn-batches.ts';
import type { ChargedCall } from './charged-calls.ts';
import { isStreamed, type TargetOutcome } from './outcome.ts';
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
  #verdicts: Judgement['verdicts'] | null = null;
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

  /** Adds the verdicts of saved guardrails; of several by one guardrail the worst is logged. */
  addVerdicts({ verdicts }: Judgement): void {
    if (verdicts.size === 0) return;
    this.#verdicts = worstOf(this.#verdicts ?? new Map(), verdicts);
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
      guardrailVerdict: outcome?.verdict ?? null,
      guardrails: this.#verdicts,
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
