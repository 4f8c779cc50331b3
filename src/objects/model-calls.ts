/** Interface through which objects call models on behalf of a caller, even after the request, possibly from another replica. */
import type { Owner } from './owner.ts';

export interface ModelCalls {
  /**
   * Calls a path below `/v1` with the caller's config, limits, guardrails and logging. Rejections by a
   * limit, a guardrail, an expired key or a provider are returned as responses, not thrown.
   */
  call(
    path: '/chat/completions' | '/embeddings',
    params: Readonly<Record<string, unknown>>,
    options?: ModelCallOptions,
  ): Promise<ModelResponse>;
}

export interface ModelCallOptions {
  /** Aborts when the response is no longer needed. */
  readonly signal?: AbortSignal;
  /** Receives the data of each stream event on arrival. */
  readonly onEvent?: (data: string) => void;
}

export interface ModelResponse {
  readonly status: number;
  /** Parsed JSON; null for another type, and for a stream. */
  readonly body: unknown;
}

/** The caller of a model, stored so that another replica can continue. It contains no secret. */
export interface ModelCaller extends Owner {
  /** Routing headers of the caller's request, without the gateway's prefix. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Creates model calls for a caller whose request has ended. */
export type ModelCallsFactory = (caller: ModelCaller) => ModelCalls;
