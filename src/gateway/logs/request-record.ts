/** Knows what is told of a request once its last byte is out, to figures and to the log of requests. */

import type { GuardrailVerdict } from '../../model/logs/request-log.ts';
import type { TokenUsage } from '../../model/pricing/pricing.ts';
import type { OpenChargeKey } from '../../store/logs/open-charges.ts';

/** A call that was charged although its answer is not the one that the caller got. */
export interface EarlierAttempt {
  readonly provider: string;
  /** As the provider was asked for it. */
  readonly model: string | null;
  readonly targetPath: string;
  /** Of its answer, or what stands for it. */
  readonly status: number;
  readonly tokens: TokenUsage;
  /** Micro-dollars; 0 where nobody knows the price. */
  readonly costUnits: number;
  readonly isEstimated: boolean;
}

export interface RequestRecord {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly durationMs: number;
  /** To the first byte of the answer; null where there was none. */
  readonly firstByteMs: number | null;
  readonly organisationId: string | null;
  readonly workspaceId: string | null;
  readonly apiKeyId: string | null;
  readonly configId: string | null;
  /** Of the prompt that it fills in; null for none. */
  readonly promptSlug: string | null;
  /** `chat_completions`; `other` for one that is only passed on. */
  readonly endpoint: string;
  readonly status: number;
  readonly provider: string | null;
  /** As the caller named it. */
  readonly requestedModel: string | null;
  /** As the provider was asked for it. */
  readonly model: string | null;
  /** As the provider names it; null where it does not. */
  readonly answeredModel: string | null;
  /** `config.targets[0]`; null where none was called. */
  readonly targetPath: string | null;
  readonly retries: number;
  /** `HIT`, `MISS`, `REFRESH`, `DISABLED`; null where no target was come to. */
  readonly cacheStatus: string | null;
  /** Null where none judged. */
  readonly guardrailVerdict: GuardrailVerdict | null;
  readonly isStream: boolean;
  /** What the provider counted, or what is likely; null where none was called. */
  readonly tokens: TokenUsage | null;
  /** Micro-dollars; 0 where nobody knows the price. */
  readonly costUnits: number | null;
  readonly isEstimated: boolean;
  /** By which it is told later what it has used; null where that is known, or never will be. */
  readonly openCharge: OpenChargeKey | null;
  /** In their order. */
  readonly earlierAttempts: readonly EarlierAttempt[];
  /** Code of the error that the gateway itself answered; null for none. */
  readonly errorCode: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}
