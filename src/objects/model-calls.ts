/** Knows how objects ask models in the name of a caller: while its request is answered, and long after that, maybe at another replica. */
import type { Owner } from './owner.ts';

export interface ModelCalls {
  /**
   * Asks at a path behind `/v1` by the caller's config, within its limits, through its guardrails, and
   * into the log. Resolves with what refuses it, too: a limit, a guardrail, a key that has expired, a
   * provider.
   */
  call(
    path: '/chat/completions' | '/embeddings',
    params: Readonly<Record<string, unknown>>,
    options?: ModelCallOptions,
  ): Promise<ModelAnswer>;
}

export interface ModelCallOptions {
  /** Aborted when nobody wants the answer any more. */
  readonly signal?: AbortSignal;
  /** Gets the data of each event of a stream, as it comes. */
  readonly onEvent?: (data: string) => void;
}

export interface ModelAnswer {
  readonly status: number;
  /** JSON; null for any other, and for a stream. */
  readonly body: unknown;
}

/** On whose behalf; stored beside what asks, so that another replica can go on. It holds no secret. */
export interface ModelCaller extends Owner {
  /** What the caller's request said of its way, by headers of ours without their prefix. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Models as they are asked on behalf of a caller whose request is over. */
export type ModelCallsOf = (caller: ModelCaller) => ModelCalls;
