/** Knows how a family of objects asks models: as the caller whose request it answers, also after that was answered. */

export interface ModelCalls {
  /**
   * Asks at a path behind `/v1` (`/embeddings`) by the caller's config, within its limits, through its
   * guardrails, and into the log.
   */
  call(path: string, params: Readonly<Record<string, unknown>>): Promise<ModelAnswer>;
}

export interface ModelAnswer {
  readonly status: number;
  /** JSON; null for any other. */
  readonly body: unknown;
}
