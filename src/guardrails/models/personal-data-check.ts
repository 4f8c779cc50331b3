/** Builds a check of personal data in which detectors find some categories and a mounted model others. */
import { isObject } from '../../model/json/read-object.ts';
import type { CheckOutcome, CheckRunner } from '../check.ts';

interface PersonalDataCheck {
  readonly detectors: CheckRunner;
  readonly model: CheckRunner;
  readonly isRedacting: boolean;
  /** Whether the check passes where personal data is found. */
  readonly isNot: boolean;
}

/** The model reads what the detectors have left, so that it does not divide what they replace as a whole. */
export function personalDataCheck({
  detectors,
  model,
  isRedacting,
  isNot,
}: PersonalDataCheck): CheckRunner {
  return async (subject) => {
    const first = await detectors(subject);
    // The first finding decides, whether or not the model can judge.
    const isDecided = isNot ? first.passes : !first.passes;
    if (!isRedacting && isDecided) return first;
    const texts = first.texts ?? subject.passages.map(({ text }) => text);
    const passages = subject.passages.map((passage, at) => ({ ...passage, text: texts[at]! }));
    return joined(first, await model({ ...subject, passages }), isNot);
  };
}

function joined(first: CheckOutcome, second: CheckOutcome, isNot: boolean): CheckOutcome {
  return {
    passes: isNot ? first.passes || second.passes : first.passes && second.passes,
    explanation: `${first.explanation}; ${second.explanation}`,
    texts: second.texts ?? first.texts,
    data: { ...(isObject(first.data) && first.data), ...(isObject(second.data) && second.data) },
  };
}
