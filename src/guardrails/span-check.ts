/** Builds checks from detectors that find places in texts: the check fails on them, or replaces them. */
import { runPromptly, type Slices } from '../slices.ts';
import {
  CheckError,
  type CheckOutcome,
  type CheckRunner,
  makeOutcome,
  NothingToJudge,
} from './check.ts';
import { replaceSpans, type Span, type SpanSearch } from './detectors/span.ts';
import type { Passage } from './texts/passages.ts';

export interface SpanCheck {
  /** Returns the search, at once if its data are loaded. */
  readonly load: () => SpanSearch | Promise<SpanSearch>;
  /** Name of the found values in explanations: `personal data`. */
  readonly subject: string;
  readonly isRedacting: boolean;
  readonly not: unknown;
  /** Text in place of a match. `number` counts the different values of a label from 1. */
  readonly placeholder: (label: string, number: number) => string;
}

/** Processor time of one search, so that a busy machine makes no search fail. */
const searchMsMax = 2_000;

export function spanCheck(check: SpanCheck): CheckRunner {
  return ({ passages }) => {
    if (passages.every(({ text }) => text === '')) {
      throw new NothingToJudge('there is no text to check');
    }
    const search = check.load();
    return search instanceof Promise
      ? search.then((loaded) => judge(check, loaded, passages))
      : judge(check, search, passages);
  };
}

function judge(
  check: SpanCheck,
  search: SpanSearch,
  passages: readonly Passage[],
): CheckOutcome | Promise<CheckOutcome> {
  const finding = runPromptly(withTimeLimit(findAll(search, passages)));
  return finding instanceof Promise
    ? finding.then((spans) => outcomeOf(check, passages, spans))
    : outcomeOf(check, passages, finding);
}

/** Characters of short passages between two interruptions. */
const interruptedCharacters = 16 * 1024;

/** Returns the places of each passage. */
function* findAll(search: SpanSearch, passages: readonly Passage[]): Slices<(readonly Span[])[]> {
  const found: (readonly Span[])[] = [];
  let characters = 0;
  for (const { text } of passages) {
    found.push(text === '' ? [] : yield* search(text));
    characters += text.length + 1;
    if (characters < interruptedCharacters) continue;
    characters = 0;
    yield;
  }
  return found;
}

/** @throws CheckError when the work itself takes too long */
function* withTimeLimit<T>(work: Slices<T>): Slices<T> {
  let spentUs = 0;
  for (;;) {
    const began = process.threadCpuUsage();
    const step = work.next();
    if (step.done === true) return step.value;
    const { user, system } = process.threadCpuUsage(began);
    spentUs += user + system;
    if (spentUs > searchMsMax * 1_000)
      throw new CheckError(`the search took longer than ${searchMsMax} ms`);
    yield;
  }
}

function outcomeOf(
  { subject, isRedacting, not, placeholder }: SpanCheck,
  passages: readonly Passage[],
  found: readonly (readonly Span[])[],
): CheckOutcome {
  const labels = [...new Set(found.flatMap((spans) => spans.map(({ label }) => label)))].toSorted();
  const count = found.reduce((sum, spans) => sum + spans.length, 0);
  const isFound = count > 0;
  const data = { detectedCategories: labels, count };
  if (!isRedacting) {
    const explanation = isFound
      ? `the text contains ${subject}: ${labels.join(', ')}`
      : `the text contains no ${subject}`;
    return { ...makeOutcome(!isFound, not, explanation), data };
  }
  if (!isFound) return { passes: true, explanation: `the text contains no ${subject}`, data };
  const numbers = new Map<string, Map<string, number>>();
  const texts = passages.map(({ text }, at) =>
    replaceSpans(text, found[at]!, ({ start, end, label }) => {
      const known = numbers.get(label) ?? new Map<string, number>();
      numbers.set(label, known);
      const value = text.slice(start, end);
      const number = known.get(value) ?? known.size + 1;
      known.set(value, number);
      return placeholder(label, number);
    }),
  );
  return {
    passes: true,
    explanation: `${subject} was replaced: ${labels.join(', ')}`,
    texts,
    data,
  };
}
