/** Defines the log entry of a finished request. */

import type { GuardrailVerdict, LoggedCheck } from '../../model/logs/request-log.ts';
import type { PriceOrigin } from '../../model/pricing/price-origin.ts';
import type { TokenUsage } from '../../model/pricing/pricing.ts';
import type { OpenChargeKey } from '../../store/logs/open-charges.ts';

/** A charged call whose response the caller did not receive. */
export interface EarlierAttempt {
  readonly provider: string;
  /** For example `openai`, also for a provider of a workspace. */
  readonly service: string;
  /** Model name sent to the provider. */
  readonly model: string | null;
  readonly targetPath: string;
  /** Status of its response, or of the error. */
  readonly status: number;
  readonly tokens: TokenUsage;
  /** Micro-dollars; 0 when the price is unknown. */
  readonly costUnits: number;
  readonly isEstimated: boolean;
  readonly priceOrigin: PriceOrigin | null;
}

export interface RequestRecord {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly durationMs: number;
  /** Time to the first byte of the response; null when there was none. */
  readonly firstByteMs: number | null;
  readonly organisationId: string | null;
  readonly workspaceId: string | null;
  readonly apiKeyId: string | null;
  readonly configId: string | null;
  /** Slug of the rendered prompt; null for none. */
  readonly promptSlug: string | null;
  /** For example `chat_completions`; `other` for endpoints that are only forwarded. */
  readonly endpoint: string;
  readonly status: number;
  readonly provider: string | null;
  /** Service of the provider, for example `openai`. */
  readonly service: string | null;
  /** Model name sent by the caller. */
  readonly requestedModel: string | null;
  /** Model name sent to the provider. */
  readonly model: string | null;
  /** Model name in the response; null when missing. */
  readonly answeredModel: string | null;
  /** For example `config.targets[0]`; null when no target was called. */
  readonly targetPath: string | null;
  /** Why a strategy selected the target; null where none did. */
  readonly targetSelection: string | null;
  readonly retries: number;
  /** `HIT`, `SEMANTIC HIT`, `MISS`, `SEMANTIC MISS`, `REFRESH` or `DISABLED`; null when no target was reached. */
  readonly cacheStatus: string | null;
  /** Null when no guardrail judged. */
  readonly guardrailVerdict: GuardrailVerdict | null;
  /** Verdict by id of each saved guardrail that judged; null for none. */
  readonly guardrails: ReadonlyMap<string, GuardrailVerdict> | null;
  /** The checks that judged, at most one for each check and side. */
  readonly guardrailChecks: readonly LoggedCheck[];
  /** Paths of members that were left out of the request, which the provider's format lacks. */
  readonly droppedMembers: readonly string[];
  readonly isStream: boolean;
  /** Reported or estimated usage; null when no provider was called. */
  readonly tokens: TokenUsage | null;
  /** Micro-dollars; 0 when the price is unknown. */
  readonly costUnits: number | null;
  readonly isEstimated: boolean;
  /** Source and version of the price; null when it is unknown or nothing was charged. */
  readonly priceOrigin: PriceOrigin | null;
  /** Set when the provider reports the usage later. */
  readonly openCharge: OpenChargeKey | null;
  /** In call order. */
  readonly earlierAttempts: readonly EarlierAttempt[];
  /** Code of the gateway's own error; null for none. */
  readonly errorCode: string | null;
  /** Slug of the MCP server and the name of its tool, prompt or resource; null for a model request. */
  readonly mcp: { readonly server: string; readonly name: string | null } | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}
