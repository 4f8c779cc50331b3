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
  return runPromptly(judgeInSlices(check, search, passages));
}

function* judgeInSlices(
  check: SpanCheck,
  search: SpanSearch,
  passages: readonly Passage[],
): Slices<CheckOutcome> {
  const found = yield* withTimeLimit(findAll(search, passages));
  const labels = new Set<string>();
  let count = 0;
  for (const spans of found) {
    for (const { label } of spans) labels.add(label);
    count += spans.length;
    if (count > interruptedCharacters) yield;
  }
  const about = { labels: [...labels].toSorted(), count };
  return check.isRedacting && count > 0
    ? yield* replaceAll(check, passages, found, about)
    : verdictOn(check, about);
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

interface Findings {
  readonly labels: readonly string[];
  readonly count: number;
}

function dataOf({ labels, count }: Findings) {
  return { detectedCategories: labels, count };
}

function verdictOn({ subject, isRedacting, not }: SpanCheck, findings: Findings): CheckOutcome {
  const { labels, count } = findings;
  const isFound = count > 0;
  const explanation = isFound
    ? `the text contains ${subject}: ${labels.join(', ')}`
    : `the text contains no ${subject}`;
  const outcome = isRedacting
    ? { passes: true, explanation }
    : makeOutcome(!isFound, not, explanation);
  return { ...outcome, data: dataOf(findings) };
}

function* replaceAll(
  { subject, placeholder }: SpanCheck,
  passages: readonly Passage[],
  found: readonly (readonly Span[])[],
  findings: Findings,
): Slices<CheckOutcome> {
  const numbers = new Map<string, Map<string, number>>();
  const texts: string[] = [];
  for (const [at, { text }] of passages.entries()) {
    const replacing = replaceSpans(text, found[at]!, ({ start, end, label }) => {
      const known = numbers.get(label) ?? new Map<string, number>();
      numbers.set(label, known);
      const value = text.slice(start, end);
      const number = known.get(value) ?? known.size + 1;
      known.set(value, number);
      return placeholder(label, number);
    });
    texts.push(yield* replacing);
  }
  return {
    passes: true,
    explanation: `${subject} was replaced: ${findings.labels.join(', ')}`,
    texts,
    data: dataOf(findings),
  };
}
