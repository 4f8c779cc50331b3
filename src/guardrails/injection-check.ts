/** Implements the check of prompt injection, which reports what it finds and fails only if it is told to. */
import { runPromptly, type Slices } from '../slices.ts';
import { type CheckRunner, NothingToJudge } from './check.ts';
import { findInjection, type InjectionSignal } from './detectors/injection/find-injection.ts';
import type { Passage } from './texts/passages.ts';

export function injection({ failOnDetection }: Readonly<Record<string, unknown>>): CheckRunner {
  return async ({ passages }) => {
    if (passages.every(({ text }) => text === '')) {
      throw new NothingToJudge('there is no text to check');
    }
    const signals = await runPromptly(signalsOf(passages));
    const isFound = signals.length > 0;
    return {
      passes: !(isFound && failOnDetection === true),
      explanation: isFound
        ? `the text has signs of an injection: ${signals.join(', ')}`
        : 'the text has no signs of an injection',
      data: { signals },
    };
  };
}

/** Characters of short passages between two interruptions. */
const interruptedCharacters = 12 * 1024;

/** Each text is judged alone: a sign in a tool's description and another one in the message prove nothing. */
function* signalsOf(passages: readonly Passage[]): Slices<InjectionSignal[]> {
  const signals = new Set<InjectionSignal>();
  let characters = 0;
  for (const { text } of passages) {
    for (const signal of yield* findInjection(text)) signals.add(signal);
    characters += text.length;
    if (characters < interruptedCharacters) continue;
    characters = 0;
    yield;
  }
  return [...signals].toSorted();
}
