/** Measures the usage of a call from its response and charges it; estimates what the provider does not report. */
import type { Account } from '../../ledger/ledger.ts';
import { type Limit, usageAtPrice } from '../../ledger/limit.ts';
import type { AssumedCharge } from '../../ledger/open-charge.ts';
import { fromUnits } from '../../model/limits/limits.ts';
import type { PriceOrigin } from '../../model/pricing/price-origin.ts';
import type { TokenUsage } from '../../model/pricing/pricing.ts';
import {
  addReportedUsage,
  completeUsage,
  newReportedUsage,
  parseUsageParts,
  type ReportedUsage,
} from '../../model/pricing/reported-usage.ts';
import { monotonicMs } from '../../monotonic.ts';
import type { ProviderHeaders } from '../../upstream/call.ts';
import { tokensInHeaders } from '../targets/translator.ts';
import { decompressBody } from '../transfer/content-encoding.ts';
import type { RelayEnd } from '../transfer/relay.ts';
import { type Admission, grantedDetails, grantedUsage, noTokens } from './admit.ts';
import { hasOutput, meteringOf } from './bound.ts';
import { countedOutput, stopsWithStream } from './counted-output.ts';
import { certainDetails } from './requested-details.ts';
import { UsageStream } from './usage-stream.ts';

/** The usage of one call. */
export interface MeteredUsage {
  readonly usage: TokenUsage;
  readonly costUnits: number;
  /** Whether the provider reported no usage, or an impossible one. */
  readonly isEstimated: boolean;
  /** Model name in the response; null when missing. */
  readonly model: string | null;
  /** Source and version of the price; null when it is unknown. */
  readonly priceOrigin: PriceOrigin | null;
  /** The estimate that limits were charged with; absent when none were. */
  readonly assumed?: AssumedCharge;
}

const none: readonly Limit[] = [];

/** Bytes of a stream event besides the text of the model. */
const eventBytes = 300;
const bytesOfToken = 3;

interface MeteredResponse {
  readonly status: number;
  readonly isStream: boolean;
  /** Whether a stream without a usage report is charged for the text that arrived, not for everything granted. */
  readonly countsText: boolean;
}

/** Meters one response. */
export class Meter {
  readonly events: UsageStream | null;
  readonly #admission: Admission;
  readonly #account: Account;
  readonly #status: number;
  #reported: ReportedUsage;
  #bodyBytes = 0;
  #metered: MeteredUsage | null = null;
  readonly #countsText: boolean;

  constructor(
    admission: Admission,
    account: Account,
    { status, isStream, countsText }: MeteredResponse,
  ) {
    this.#admission = admission;
    this.#account = account;
    this.#status = status;
    this.#countsText = countsText;
    const { endpoint } = admission.target;
    this.events = isStream ? new UsageStream(admission.removesUsage, endpoint) : null;
    this.#reported = this.events?.reported ?? newReportedUsage();
  }

  /** Meters and charges a complete response. `text` is the decoded body, if known. Returns dollars; null when unknown. */
  readWhole(body: Buffer, headers: ProviderHeaders, text: string | null = null): number | null {
    this.#bodyBytes = body.length;
    if (/^application\/json/i.test(String(headers['content-type']))) {
      try {
        const plain = decompressBody(headers, body);
        const readsTools = this.#admission.details?.hasTools === true;
        const parts = parseUsageParts(plain, plain === body ? text : null, readsTools);
        addReportedUsage(this.#reported, parts);
      } catch {
        // A body that is not JSON reports no usage.
      }
    }
    if (!hasOutput(this.#admission.target.metering)) addHeaderUsage(this.#reported, headers);
    const { costUnits } = this.#settle(true);
    return this.#admission.bound.price === null ? null : fromUnits(costUnits, 'cost');
  }

  /** Input that the request probably has. */
  get likelyInputTokens(): number {
    return this.#admission.bound.likelyInputTokens;
  }

  /** The charge; null before it was made. */
  get metered(): MeteredUsage | null {
    return this.#metered;
  }

  /** Charges a response that {@link readWhole} has not charged. */
  finish(end: RelayEnd): MeteredUsage {
    const isRead = end.kind === 'whole' || (end.kind === 'left' && end.isRead);
    return this.#metered ?? this.#settle(isRead);
  }

  #settle(isRead: boolean): MeteredUsage {
    const usage = this.#usage(isRead);
    const { bound, priceOrigin, batch } = this.#admission;
    const { price } = bound;
    const used = usageAtPrice(price, usage.tokens);
    const { isEstimated } = usage;
    const limits = isEstimated ? this.#account.charged() : none;
    this.#account.settle(used);
    const { model } = this.#reported;
    const { costUnits } = used;
    const metered = { usage: usage.tokens, costUnits, isEstimated, model, priceOrigin };
    this.#metered =
      limits.length === 0
        ? metered
        : {
            ...metered,
            assumed: { price: batch === null ? price : batch.price, limits, usage: used },
          };
    return this.#metered;
  }

  #usage(isRead: boolean): { readonly tokens: TokenUsage; readonly isEstimated: boolean } {
    const { metering } = this.#admission.target;
    // The usage in the response belongs to another request.
    if (metering === 'nothing') return { tokens: noTokens, isEstimated: false };
    if (metering === 'batches') return this.#batchUsage(isRead);
    const certain = certainDetails(this.#admission.details, metering);
    const reported = completeUsage(this.#reported, hasOutput(metering), certain);
    const isFinal = isRead && !this.#reported.isOutputPreliminary;
    if (reported !== null && isFinal) return { tokens: reported, isEstimated: false };
    // Errors and redirects use nothing.
    if (this.#status >= 300 && isRead) return { tokens: noTokens, isEstimated: false };
    const counted = this.#countedUsage();
    if (counted !== null) return { tokens: counted, isEstimated: true };
    if (!isRead || this.#reported.isImplausible) {
      return { tokens: grantedUsage(this.#admission), isEstimated: true };
    }
    const { inputTokens, outputTokens } = this.#reported;
    const unreported = this.#mostOrLikely();
    const tokens = {
      ...noTokens,
      ...unreportedDetails(this.#admission),
      inputTokens: inputTokens ?? unreported.inputTokens,
      outputTokens: outputTokens ?? unreported.outputTokens,
    };
    return { tokens, isEstimated: true };
  }

  /** A batch is charged its bound until its results are known. */
  #batchUsage(isRead: boolean): { readonly tokens: TokenUsage; readonly isEstimated: boolean } {
    const isRefused = this.#status >= 300 && isRead;
    if (isRefused || this.#admission.batch === null)
      return { tokens: noTokens, isEstimated: false };
    return { tokens: grantedUsage(this.#admission), isEstimated: true };
  }

  /** Null where everything granted is charged. */
  #countedUsage(): TokenUsage | null {
    const { events } = this;
    if (events === null || !this.#countsText || this.#status >= 300) return null;
    const admission = this.#admission;
    if (this.#reported.isImplausible || !stopsWithStream(admission)) return null;
    const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens } = this.#reported;
    const { bound, isCounted } = admission;
    const unreported = isCounted ? bound.inputTokens : bound.likelyInputTokens;
    const { text } = events;
    const arrived = text.isRead ? text.tokens : likelyOutput(events, this.#bodyBytes);
    const output = countedOutput(admission, text, arrived, monotonicMs());
    return {
      ...noTokens,
      ...unreportedDetails(this.#admission),
      ...(inputTokens !== null && { cachedInputTokens, cacheWriteTokens }),
      inputTokens: inputTokens ?? unreported,
      outputTokens: Math.max(output, outputTokens ?? 0),
    };
  }

  /** Under a limit everything granted, so that missing usage reports cannot exceed it. */
  #mostOrLikely(): Pick<TokenUsage, 'inputTokens' | 'outputTokens'> {
    const { bound, outputTokens, isCounted, target } = this.#admission;
    if (isCounted && meteringOf(target.metering) !== null) return grantedUsage(this.#admission);
    return {
      inputTokens: bound.likelyInputTokens,
      outputTokens: Math.min(outputTokens, likelyOutput(this.events, this.#bodyBytes)),
    };
  }
}

/** Bedrock states the input of embeddings in a header. */
function addHeaderUsage(reported: ReportedUsage, headers: ProviderHeaders): void {
  const input_tokens = tokensInHeaders(headers);
  if (input_tokens === null || reported.inputTokens !== null) return;
  addReportedUsage(reported, { usage: { input_tokens } });
}

/** Usage of a request that called no provider. */
export const noUsage: MeteredUsage = {
  usage: noTokens,
  costUnits: 0,
  isEstimated: false,
  model: null,
  priceOrigin: null,
};

/** Units and tiers of a response that does not report them. */
function unreportedDetails({ details, bound }: Admission): Pick<TokenUsage, 'details'> {
  return details === null ? {} : { details: grantedDetails(details, bound) };
}

/** Each stream event has at least one token; longer texts have more. */
function likelyOutput(stream: UsageStream | null, bodyBytes: number): number {
  if (stream === null) return Math.ceil(bodyBytes / bytesOfToken);
  const { bytes, events } = stream;
  return events + Math.ceil(Math.max(0, bytes - events * eventBytes) / bytesOfToken);
}
