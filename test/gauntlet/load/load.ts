/** Describes one kind of traffic. */
import type { Answer } from './answer.ts';

export interface Load {
  readonly name: string;
  /** Share of the total rate, or a rate of its own in requests a second. */
  readonly pace: { readonly share: number } | { readonly perSecond: number };
  /** Sends one request, and records what it was promised. */
  readonly send: () => Promise<Answer | null>;
}

export interface LoadOptions {
  readonly random: () => number;
  /** Requests a second of all shares together. */
  readonly rate: number;
  readonly minutes: number;
}

/** A request that takes longer counts as unanswered. */
export const callerTimeoutMs = 20_000;
