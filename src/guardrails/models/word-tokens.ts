/** Splits texts into words with their tokens, and words into windows that a model can read. */
import { Tokenizer } from '@huggingface/tokenizers';

/** A word of a text. */
export interface Word {
  readonly from: number;
  readonly to: number;
  readonly ids: readonly number[];
}

/** Letters and digits belong together; everything else is a word of its own. */
const wordForm = /[\p{L}\p{N}\p{M}_]{1,64}|\S/gu;
const knownWordsMax = 50_000;
/** Part of a window that the next one repeats, so that nothing hides at a border. */
const overlapShare = 0.25;

export class WordTokens {
  readonly #tokenizer: Tokenizer;
  /** Precedes a word behind a blank. */
  readonly #prefix: string;
  readonly #specialIds: ReadonlySet<number>;
  readonly #known = new Map<string, readonly number[]>();
  /** Tokens at the start and at the end of each input. */
  readonly #edges: readonly [readonly number[], readonly number[]];

  constructor(tokenizer: unknown) {
    this.#tokenizer = new Tokenizer(tokenizer as object, {});
    const added = [...this.#tokenizer.get_added_tokens_decoder()];
    this.#specialIds = new Set(added.flatMap(([id, { special }]) => (special ? [id] : [])));
    const whole = this.#plain('a a').join();
    const prefixes = ['', ' '];
    this.#prefix =
      prefixes.find((one) => [...this.#plain('a'), ...this.#plain(`${one}a`)].join() === whole) ??
      '';
    this.#edges = this.#edgesOf();
  }

  words(text: string): Word[] {
    return [...text.matchAll(wordForm)].map(({ 0: word, index }) => {
      const isBehindBlank = index > 0 && /\s/.test(text[index - 1]!);
      const ids = this.#idsOf(isBehindBlank ? this.#prefix + word : word);
      return { from: index, to: index + word.length, ids };
    });
  }

  /** Groups words so that their tokens and those at the edges are at most `tokensMax`. */
  windows(words: readonly Word[], tokensMax: number): Word[][] {
    const [start, end] = this.#edges;
    const room = tokensMax - start.length - end.length;
    const windows: Word[][] = [];
    let first = 0;
    while (first < words.length) {
      let next = first;
      for (let tokens = 0; next < words.length; next += 1) {
        tokens += words[next]!.ids.length;
        if (tokens > room && next > first) break;
      }
      windows.push(words.slice(first, next));
      if (next === words.length) break;
      first = Math.max(first + 1, next - Math.floor((next - first) * overlapShare));
    }
    return windows;
  }

  /** The tokens of an input, and for each word the position of its first token. */
  input(words: readonly Word[], tokensMax: number) {
    const [start, end] = this.#edges;
    const ids = [...start];
    const positions: number[] = [];
    for (const word of words) {
      positions.push(ids.length);
      ids.push(...word.ids.slice(0, tokensMax - ids.length - end.length));
    }
    return { ids: [...ids, ...end], positions };
  }

  #edgesOf(): readonly [readonly number[], readonly number[]] {
    const ids: readonly number[] = this.#tokenizer.encode('a').ids;
    const word = this.#plain('a');
    const at = ids.findIndex((_, from) => word.every((id, step) => ids[from + step] === id));
    return [ids.slice(0, Math.max(0, at)), ids.slice(Math.max(0, at) + word.length)];
  }

  #idsOf(word: string): readonly number[] {
    const known = this.#known.get(word);
    if (known !== undefined) return known;
    // A text must not contain the tokens that end an input.
    const ids = this.#plain(word).filter((id) => !this.#specialIds.has(id));
    if (this.#known.size === knownWordsMax) this.#known.clear();
    this.#known.set(word, ids);
    return ids;
  }

  #plain(text: string): readonly number[] {
    return this.#tokenizer.encode(text, { add_special_tokens: false }).ids;
  }
}
