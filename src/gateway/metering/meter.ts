/** Knows what a call has used, once it is over, and charges it: what the provider said, else all that was granted; what nobody limits is what is likely. */
import type { Account } from '../../ledger/ledger.ts';
import { type Limit, usageAt } from '../../ledger/limit.ts';
import type { AssumedCharge } from '../../ledger/open-charge.ts';
import { fromUnits } from '../../model/limits/limits.ts';
import type { TokenUsage } from '../../model/pricing/pricing.ts';
import {
  addReportedUsage,
  completeUsage,
  newReportedUsage,
  parseUsageParts,
  type ReportedUsage,
} from '../../model/pricing/reported-usage.ts';
import type { ProviderHeaders } from '../../upstream/call.ts';
import { decodeBody } from '../transfer/content-encoding.ts';
import type { RelayEnd } from '../transfer/relay.ts';
import { type Admission, grantedUsage, noTokens } from './admit.ts';
import { hasOutput, isMetered } from './bound.ts';
import { unmetered } from './metered-endpoint.ts';
import { UsageStream } from './usage-stream.ts';

/** What is known of the use of one request. */
export interface MeteredUsage {
  readonly usage: TokenUsage;
  readonly costUnits: number;
  /** The provider did not say it, or not in a way that can be. */
  readonly isEstimated: boolean;
  /** As the provider names it; null where it does not. */
  readonly model: string | null;
  /** What limits were charged with an estimate; absent where none were. */
  readonly assumed?: AssumedCharge;
}

const none: readonly Limit[] = [];

/** Of a stream: bytes of an event that are no text of the model. */
const eventBytes = 300;
const bytesOfToken = 3;

/** Watches one answer. */
export class Meter {
  readonly events: UsageStream | null;
  readonly #admission: Admission;
  readonly #account: Account;
  readonly #status: number;
  #said: ReportedUsage;
  #bodyBytes = 0;
  #metered: MeteredUsage | null = null;

  constructor(admission: Admission, account: Account, status: number, isStream: boolean) {
    this.#admission = admission;
    this.#account = account;
    this.#status = status;
    this.events = isStream ? new UsageStream(admission.takesUsageOut) : null;
    this.#said = this.events?.said ?? newReportedUsage();
  }

  /** An answer that came whole, with its text where that is known; what it cost, in dollars, where that is. */
  readWhole(body: Buffer, headers: ProviderHeaders, text: string | null = null): number | null {
    this.#bodyBytes = body.length;
    if (/^application\/json/i.test(String(headers['content-type']))) {
      try {
        const plain = decodeBody(headers, body);
        addReportedUsage(this.#said, parseUsageParts(plain, plain === body ? text : null));
      } catch {
        // What is no JSON says nothing.
      }
    }
    const { costUnits } = this.#settle(true);
    return this.#admission.bound.price === null ? null : fromUnits(costUnits, 'cost');
  }

  /** What was charged; null while nothing was. */
  get metered(): MeteredUsage | null {
    return this.#metered;
  }

  /** The answer is over; charges what {@link readWhole} has not. */
  finish(end: RelayEnd): MeteredUsage {
    const isRead = end.kind === 'whole' || (end.kind === 'left' && end.isRead);
    return this.#metered ?? this.#settle(isRead);
  }

  #settle(isRead: boolean): MeteredUsage {
    const usage = this.#usage(isRead);
    const { price } = this.#admission.bound;
    const used = usageAt(price, usage.tokens);
    const { isEstimated } = usage;
    const limits = isEstimated ? this.#account.charged() : none;
    this.#account.settle(used);
    const { model } = this.#said;
    const { costUnits } = used;
    const metered = { usage: usage.tokens, costUnits, isEstimated, model };
    this.#metered =
      limits.length === 0 ? metered : { ...metered, assumed: { price, limits, usage: used } };
    return this.#metered;
  }

  #usage(isRead: boolean): { readonly tokens: TokenUsage; readonly isEstimated: boolean } {
    const { metering } = this.#admission;
    // What the answer tells of, another request has used.
    if (metering === unmetered) return { tokens: noTokens, isEstimated: false };
    const said = completeUsage(this.#said, hasOutput(metering));
    if (said !== null && isRead) return { tokens: said, isEstimated: false };
    // A provider that refuses, or names another place, has done nothing.
    if (this.#status >= 300 && isRead) return { tokens: noTokens, isEstimated: false };
    if (!isRead || this.#said.isImplausible) {
      return { tokens: grantedUsage(this.#admission), isEstimated: true };
    }
    const { inputTokens, outputTokens } = this.#said;
    const unsaid = this.#mostOrLikely();
    const tokens = {
      ...noTokens,
      inputTokens: inputTokens ?? unsaid.inputTokens,
      outputTokens: outputTokens ?? unsaid.outputTokens,
    };
    return { tokens, isEstimated: true };
  }

  /** Under a limit the most that was granted, as no limit may be exceeded by who says nothing. */
  #mostOrLikely(): Pick<TokenUsage, 'inputTokens' | 'outputTokens'> {
    const { bound, outputTokens, isCounted, metering } = this.#admission;
    if (isCounted && isMetered(metering)) return grantedUsage(this.#admission);
    return {
      inputTokens: bound.likelyInputTokens,
      outputTokens: Math.min(outputTokens, this.#likelyOutput()),
    };
  }

  /** A piece of a stream is a token at least, and its text may hold more. */
  #likelyOutput(): number {
    if (this.events === null) return Math.ceil(this.#bodyBytes / bytesOfToken);
    const { bytes, events } = this.events;
    return events + Math.ceil(Math.max(0, bytes - events * eventBytes) / bytesOfToken);
  }
}

/** Of a request that no provider was asked for. */
export const noUsage: MeteredUsage = {
  ...{ usage: noTokens, costUnits: 0, isEstimated: false, model: null },
};
