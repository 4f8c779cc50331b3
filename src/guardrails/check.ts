/** Defines the input and the outcome of a guardrail check. */
import { longLengthMin, nextTurn } from '../slices.ts';
import type { ToolCall } from './calls/tool-calls.ts';
import type { CheckModelCalls } from './check-model-calls.ts';
import type { Passage, PassagePath } from './texts/passages.ts';
import type { TextEdits } from './texts/windowed-text.ts';

/** A request or response as checks see it. */
export interface CheckSubject {
  readonly side: 'input' | 'output';
  /** `chat_completions`, `embeddings`. */
  readonly endpoint: string;
  readonly isStream: boolean;
  readonly params: Readonly<Record<string, unknown>>;
  /** Null for input. */
  readonly answer: { readonly status: number; readonly json: unknown } | null;
  readonly passages: readonly Passage[];
  /** All passages, of which `passages` are the last; absent if they are the same. */
  readonly conversation?: readonly Passage[] | undefined;
  /** Absent where checks cannot use accounts, and where no verdict is reused. */
  readonly tenant?: CheckTenant | undefined;
  /** Absent where no model can be called through a provider of the tenant. */
  readonly modelCalls?: CheckModelCalls | undefined;
  /** Why the texts cannot be read; null if they can. */
  readonly unreadable: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Headers of the caller, with names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly provider: string;
  readonly model: string | null;
  readonly traceId: string;
  /** Whether ranges of replacements are needed, as in windows of a stream. */
  readonly needsEdits?: boolean | undefined;
  /** Finds the calls of tools in a stream; absent where `answer` or `params` contain them. */
  readonly toolCalls?: (() => readonly ToolCall[]) | undefined;
}

/** A new value at a path of a request. */
export interface MemberChange {
  readonly path: PassagePath;
  readonly value: unknown;
}

/** The tenant whose texts are judged. */
export interface CheckTenant {
  readonly organisationId: string;
  readonly workspaceId: string | null;
}

export interface CheckOutcome {
  readonly passes: boolean;
  /** One sentence without the checked text. */
  readonly explanation: string;
  /** Replacements, one for each passage; absent if nothing changes. */
  readonly texts?: readonly string[] | undefined;
  /** For each passage the ranges that `texts` replace; only where the subject needs them. */
  readonly edits?: readonly TextEdits[] | undefined;
  /** Values that take the place of others in the JSON of a request, applied after the texts. */
  readonly members?: readonly MemberChange[] | undefined;
  /** Further data of the result. */
  readonly data?: unknown;
}

export type CheckRunner = (subject: CheckSubject) => CheckOutcome | Promise<CheckOutcome>;

/** Reports that a check could not judge; the guardrail decides what follows. */
export class CheckError extends Error {
  override name = 'CheckError';
}

/** Reports that there is nothing to judge, which no guardrail counts as a failure unless it fails closed. */
export class NothingToJudge extends CheckError {}

/** Texts of passages that several checks join. */
const joined = new WeakMap<readonly Passage[], JoinedTexts>();

interface JoinedTexts {
  all?: string;
  message?: string;
}

/** All passages as one text, for checks that search for what must not occur. */
export function subjectText({ passages }: Pick<CheckSubject, 'passages'>): string {
  const texts = joinedOf(passages);
  texts.all ??= joinTexts(passages);
  return texts.all;
}

/** The message without its surroundings, for checks of its form and of what it must contain. */
export function messageText({ passages }: Pick<CheckSubject, 'passages'>): string {
  const texts = joinedOf(passages);
  texts.message ??= joinMessage(passages);
  return texts.message;
}

function joinedOf(passages: readonly Passage[]): JoinedTexts {
  const known = joined.get(passages);
  if (known !== undefined) return known;
  const texts: JoinedTexts = {};
  joined.set(passages, texts);
  return texts;
}

function joinMessage(passages: readonly Passage[]): string {
  const message = passages.filter(({ isAside }) => isAside !== true);
  return message.length === passages.length ? subjectText({ passages }) : joinTexts(message);
}

/** Joins the texts in turns of their own, for checks that read them afterwards. */
export async function joinInTurns(subject: Pick<CheckSubject, 'passages'>): Promise<void> {
  await nextTurn();
  subjectText(subject);
  await nextTurn();
  messageText(subject);
  await nextTurn();
}

function joinTexts(passages: readonly Passage[]): string {
  return passages.length === 1 ? passages[0]!.text : passages.map(({ text }) => text).join('\n');
}

/** Whether each check should have a turn of the event loop of its own. */
export function isLongSubject({ passages }: Pick<CheckSubject, 'passages'>): boolean {
  if (passages.length > longPassagesMin) return true;
  let characters = 0;
  for (const { text } of passages) characters += text.length;
  return characters >= longLengthMin;
}

/** From this number of passages on a subject is long. */
const longPassagesMin = 1_000;

/** Builds an outcome; a true `isNot` inverts the condition. */
export function makeOutcome(holds: boolean, isNot: unknown, explanation: string): CheckOutcome {
  const passes = isNot === true ? !holds : holds;
  return { passes, explanation };
}
