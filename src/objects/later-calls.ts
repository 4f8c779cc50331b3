/** Knows how objects ask models when the request that made them is long over, maybe at another replica. */
import type { ModelAnswer } from './model-calls.ts';

/** On whose behalf; stored beside what asks, so that another replica can go on. It holds no secret. */
export interface ModelCaller {
  readonly organisationId: string;
  readonly apiKeyId: string;
  /** What the caller's request said of its way, by headers of ours without their prefix. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface ModelRequest {
  /** Behind `/v1`. */
  readonly path: '/chat/completions' | '/embeddings';
  readonly params: Readonly<Record<string, unknown>>;
  /** Aborted when nobody wants the answer any more. */
  readonly signal: AbortSignal;
  /** The data of each event of a stream, as it comes. */
  readonly onEvent?: (data: string) => void;
}

export interface LaterCalls {
  /** Resolves with what refuses it, too: a limit, a guardrail, a key that has expired, a provider. */
  call(caller: ModelCaller, request: ModelRequest): Promise<ModelAnswer>;
}
