/** Defines the texts of the corpora, and measures detectors on them. */

/** A text and the values in it that a detector must find, each with its category. */
export interface LabelledText {
  readonly text: string;
  readonly values: readonly LabelledValue[];
}

interface LabelledValue {
  readonly label: string;
  readonly value: string;
}

/** A part of a corpus. Detectors were adjusted to `tuned` texts and never to `heldBack` ones. */
export type CorpusPart = 'tuned' | 'heldBack';

/** Precision and recall over values; both are 1 where there is nothing to count. */
export interface Quality {
  readonly precision: number;
  readonly recall: number;
  /** Values that were not found with exactly their place and label. */
  readonly missed: readonly string[];
  /** Findings that are no value of the text. */
  readonly wrong: readonly string[];
}

/** A place that a detector has found. */
export interface FoundPlace {
  readonly start: number;
  readonly end: number;
  readonly label: string;
}

/** Measures a detector. With `isLabelled` false only the places count, whatever their label. */
export function measure(
  texts: readonly LabelledText[],
  find: (text: string) => readonly FoundPlace[],
  isLabelled = true,
): Quality {
  const missed: string[] = [];
  const wrong: string[] = [];
  let right = 0;
  for (const { text, values } of texts) {
    const open = values.map(({ label, value }) => (isLabelled ? `${label} ${value}` : value));
    for (const { start, end, label } of find(text)) {
      const value = text.slice(start, end);
      const at = open.indexOf(isLabelled ? `${label} ${value}` : value);
      if (at === -1) wrong.push(`${label} ${value} in: ${text.slice(0, 200)}`);
      else {
        open.splice(at, 1);
        right += 1;
      }
    }
    missed.push(...open.map((value) => `${value} in: ${text.slice(0, 200)}`));
  }
  return {
    precision: right + wrong.length === 0 ? 1 : right / (right + wrong.length),
    recall: right + missed.length === 0 ? 1 : right / (right + missed.length),
    missed,
    wrong,
  };
}
