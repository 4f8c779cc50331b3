/** Implements the checks of the language and the sense of a message. */
import { languageLabels } from '../model/guardrails/languages.ts';
import { runPromptly, type Slices } from '../slices.ts';
import {
  type CheckRunner,
  type CheckSubject,
  makeOutcome,
  messageText,
  NothingToJudge,
} from './check.ts';
import { findProse, letterCount } from './detectors/language/prose.ts';
import {
  judgeSense,
  type LetterPairs,
  latinWords,
  loadedLetterPairs,
  loadLetterPairs,
} from './detectors/language/sense.ts';
import type { Searches } from './searches.ts';

type Parameters = Readonly<Record<string, unknown>>;

/** Shorter texts are not judged, because too many of them are taken for another language. */
const lettersMin = 30;
/** Share of Latin letters from which on a text can be judged for its sense. */
const latinShareMin = 0.8;

/** Passes if the message is in one of the languages. */
export function language({ language: codes, not }: Parameters, searches: Searches): CheckRunner {
  const labels = new Set([codes].flat().flatMap((code) => languageLabels[String(code)]!));
  return async (subject) => {
    const prose = await runPromptly(proseIn(subject));
    const label = await searches.languageOf(prose);
    const isIn = label !== null && labels.has(label);
    return {
      ...makeOutcome(isIn, not, `the language is ${isIn ? '' : 'not '}one of those listed`),
      data: { detectedLanguage: label },
    };
  };
}

/** Passes if the message makes sense. */
export function gibberish({ not }: Parameters): CheckRunner {
  const judge = async (subject: CheckSubject, pairs: LetterPairs) => {
    const makesSense = await runPromptly(sensesIn(subject, pairs));
    return makeOutcome(makesSense, not, `the text ${makesSense ? 'makes sense' : 'is gibberish'}`);
  };
  return async (subject) => judge(subject, loadedLetterPairs() ?? (await loadLetterPairs()));
}

function* proseIn(subject: CheckSubject): Slices<string> {
  const prose = yield* findProse(messageText(subject));
  if (letterCount(prose) >= lettersMin) return prose;
  throw new NothingToJudge(`the message has less than ${lettersMin} letters in prose`);
}

function* sensesIn(subject: CheckSubject, pairs: LetterPairs): Slices<boolean> {
  const prose = yield* proseIn(subject);
  const words = latinWords(prose);
  const latin = words.reduce((sum, word) => sum + word.length, 0);
  if (latin < lettersMin || latin < letterCount(prose) * latinShareMin) {
    throw new NothingToJudge('the message is not in Latin letters');
  }
  return yield* judgeSense(words, pairs);
}
