/** Makes texts that a pattern in Go's syntax matches, for corpora. */
import type { SeededRandom } from '../../support/run/seeded-random.ts';

const alphanumeric = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const wordCharacters = `${alphanumeric}_`;
const escapes: Readonly<Record<string, string>> = {
  d: '0123456789',
  w: wordCharacters,
  s: ' ',
  S: alphanumeric,
  n: '\n',
  r: '\r',
  t: '\t',
};
/** Repetitions without an upper bound get at most this many more than the least. */
const furtherMax = 4;

/** Returns one text; `\b` and ends are not checked, so that a caller has to match the text itself. */
export function sampleOf(pattern: string, random: SeededRandom): string {
  return new PatternSampler(pattern, random).alternatives();
}

class PatternSampler {
  readonly #pattern: string;
  readonly #random: SeededRandom;
  #at = 0;

  constructor(pattern: string, random: SeededRandom) {
    this.#pattern = pattern;
    this.#random = random;
  }

  /** One of the alternatives up to the end of the group. */
  alternatives(): string {
    const texts = [this.#sequence()];
    while (this.#pattern[this.#at] === '|') {
      this.#at += 1;
      texts.push(this.#sequence());
    }
    return this.#random.pick(texts);
  }

  #sequence(): string {
    let text = '';
    while (this.#at < this.#pattern.length && !'|)'.includes(this.#pattern[this.#at]!)) {
      const from = this.#at;
      let piece = this.#atom();
      const end = this.#at;
      const times = this.#times();
      const after = this.#at;
      if (times === 0) piece = '';
      for (let count = 1; count < times; count += 1) {
        this.#at = from;
        piece += this.#atom();
        if (this.#at !== end) throw new Error(`the atom at ${from} has two ends`);
      }
      this.#at = after;
      text += piece;
    }
    return text;
  }

  #atom(): string {
    const character = this.#pattern[this.#at]!;
    this.#at += 1;
    if (character === '(') return this.#group();
    if (character === '[') return this.#random.pick([...this.#class()]);
    if (character === '\\') return this.#escape();
    // A dot that is not repeated usually stands for a dot.
    if (character === '.' && !/^[?*+{)]/.test(this.#pattern.slice(this.#at))) return '.';
    if (character === '.') return this.#random.pick([...alphanumeric]);
    return character === '^' || character === '$' ? '' : character;
  }

  #group(): string {
    const [opening = ''] = /^\?(?:P<\w+>|[ims-]*[:)])/.exec(this.#pattern.slice(this.#at)) ?? [];
    this.#at += opening.length;
    if (opening.endsWith(')')) return '';
    const text = this.alternatives();
    this.#at += 1;
    return text;
  }

  /** One character of an escape; none for places. */
  #escape(): string {
    const [name = ''] = /^(?:x[\da-fA-F]{2}|.)/.exec(this.#pattern.slice(this.#at)) ?? [];
    this.#at += name.length;
    if (name.length === 3) return String.fromCharCode(Number.parseInt(name.slice(1), 16));
    if (name === 'b' || name === 'z') return '';
    return this.#random.pick([...(escapes[name] ?? name)]);
  }

  #class(): string {
    let characters = '';
    for (;;) {
      const rest = this.#pattern.slice(this.#at);
      const [posix] = /^\[:alnum:\]/.exec(rest) ?? [];
      const range = /^([^\]\\])-([^\]\\])/.exec(rest);
      if (posix !== undefined) {
        characters += alphanumeric;
        this.#at += posix.length;
      } else if (range !== null) {
        characters += charactersBetween(range[1]!, range[2]!);
        this.#at += 3;
      } else if (rest.startsWith('\\')) {
        const name = rest[1]!;
        const hex = /^\\x([\da-fA-F]{2})/.exec(rest);
        characters +=
          hex === null
            ? (escapes[name] ?? name)
            : String.fromCharCode(Number.parseInt(hex[1]!, 16));
        this.#at += hex === null ? 2 : 4;
      } else {
        this.#at += 1;
        if (rest.startsWith(']')) break;
        characters += rest[0]!;
      }
    }
    return characters.startsWith('^') ? 'aQ7zK4' : characters;
  }

  #times(): number {
    const [all, sign, least, comma, most] =
      /^(?:([?*+])|\{(\d+)(,?)(\d*)\})\??/.exec(this.#pattern.slice(this.#at)) ?? [];
    if (all === undefined) return 1;
    this.#at += all.length;
    if (sign !== undefined) {
      const lowest = sign === '+' ? 1 : 0;
      return this.#random.integer(lowest, sign === '?' ? 1 : lowest + furtherMax);
    }
    const lowest = Number(least);
    if (comma === '') return lowest;
    const highest = most === '' ? lowest + furtherMax : Number(most);
    return this.#random.integer(lowest, Math.min(highest, lowest + 30));
  }
}

function charactersBetween(first: string, last: string): string {
  const [from, to] = [first.charCodeAt(0), last.charCodeAt(0)];
  return String.fromCharCode(...Array.from({ length: to - from + 1 }, (_, at) => from + at));
}
