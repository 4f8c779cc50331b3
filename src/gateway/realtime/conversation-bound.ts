/** Bounds the tokens of the conversation of a session, which every response reads as a whole. */

export class ConversationBound {
  /** Everything that was ever added. */
  #total = 0;
  /** Tokens that the provider reported, and the total that they cover. */
  #reported: { readonly tokens: number; readonly total: number } | null = null;

  add(tokens: number): void {
    this.#total += tokens;
  }

  /** Tokens of the next response's input, at most. */
  get tokens(): number {
    const total = Math.ceil(this.#total);
    if (this.#reported === null) return total;
    const since = this.#total - this.#reported.total;
    return Math.min(total, Math.ceil(this.#reported.tokens + since));
  }

  /** The point up to which a response that is created now reads the conversation. */
  mark(): number {
    return this.#total;
  }

  /** Adds the output of a response. `inputTokens` is null where the response did not read the conversation. */
  addOutput(mark: number, inputTokens: number | null, outputTokens: number): void {
    this.#total += outputTokens;
    if (inputTokens === null) return;
    // The provider knows of input that the gateway does not, and counts it again in the next response.
    const unknown = Math.max(0, inputTokens - mark);
    this.#total += unknown;
    const total = mark + unknown + outputTokens;
    this.#reported = { tokens: inputTokens + outputTokens, total };
  }
}
