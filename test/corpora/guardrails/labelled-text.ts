/** Defines the texts of the corpora, makes their values from a seed, and measures detectors on them. */

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

/** Yields the same values for the same seed. */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** At least 0 and less than 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** An integer from `least` to `most`. */
  integer(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  pick<T>(items: readonly T[]): T {
    return items[this.integer(0, items.length - 1)]!;
  }

  /** A text of characters of an alphabet. */
  text(alphabet: string, length: number): string {
    return Array.from({ length }, () => alphabet[this.integer(0, alphabet.length - 1)]).join('');
  }

  digits(length: number): string {
    return this.text('0123456789', length);
  }
}
