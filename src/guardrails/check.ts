/** Knows what a check of a guardrail is given, and what it says. */
import type { Passage } from './passages.ts';

/** One request or answer as checks see it. */
export interface Subject {
  readonly side: 'input' | 'output';
  /** `chat_completions`, `embeddings`. */
  readonly endpoint: string;
  readonly isStream: boolean;
  readonly params: Readonly<Record<string, unknown>>;
  /** Null on the side of input. */
  readonly answer: { readonly status: number; readonly json: unknown } | null;
  readonly passages: readonly Passage[];
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Of the caller, in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly provider: string;
  readonly model: string | null;
  readonly traceId: string;
}

export interface Outcome {
  readonly passes: boolean;
  /** In one sentence, without what was judged. */
  readonly explanation: string;
  /** In place of the passages, one for each; null where they stay. */
  readonly texts?: readonly string[] | undefined;
  /** What else it has to tell. */
  readonly data?: unknown;
}

export type Judge = (subject: Subject) => Outcome | Promise<Outcome>;

/** A check could not judge; its guardrail says what that means. */
export class CheckError extends Error {
  override name = 'CheckError';
}

/** All that is judged, as one text. */
export function textOf({ passages }: Pick<Subject, 'passages'>): string {
  return passages.length === 1 ? passages[0]!.text : passages.map(({ text }) => text).join('\n');
}

/** `not` turns what a check says into its opposite. */
export function saying(holds: boolean, isNot: unknown, explanation: string): Outcome {
  const passes = isNot === true ? !holds : holds;
  return { passes, explanation };
}
