/** Generates answers of models in a form that belongs to no provider. */
import fc from 'fast-check';

export type AnswerPart =
  | { readonly kind: 'thought'; readonly text: string; readonly signature: string }
  | { readonly kind: 'hidden'; readonly data: string }
  | { readonly kind: 'text'; readonly text: string; readonly cited: readonly Source[] }
  | { readonly kind: 'refusal'; readonly text: string }
  | {
      readonly kind: 'call';
      readonly id: string;
      readonly name: string;
      readonly args: Readonly<Record<string, unknown>>;
    };

/** A page that a text cites. */
export interface Source {
  readonly url: string;
  readonly title: string;
}

export type Stop = 'end' | 'calls' | 'length' | 'filter';

export interface Answer {
  readonly parts: readonly AnswerPart[];
  readonly stop: Stop;
  readonly usage: Usage;
}

export interface Usage {
  /** All input tokens; `cached` and `written` are among them. */
  readonly input: number;
  readonly cached: number;
  readonly written: number;
  /** All output tokens; `reasoning` are among them. */
  readonly output: number;
  readonly reasoning: number;
}

/** The contents of an answer that every format shows its caller. */
export interface Meaning {
  readonly thought: string;
  readonly text: string;
  readonly refusal: string;
  readonly cited: readonly Source[];
  readonly calls: readonly {
    readonly id: string;
    readonly name: string;
    readonly args: unknown;
  }[];
  readonly stop: Stop;
  readonly usage: Partial<Usage>;
}

export function meaningOf({ parts, stop, usage }: Answer): Meaning {
  const texts = (kind: 'thought' | 'text' | 'refusal'): string =>
    parts.map((part) => (part.kind === kind ? part.text : '')).join('');
  return {
    thought: texts('thought'),
    text: texts('text'),
    refusal: texts('refusal'),
    cited: parts.flatMap((part) => (part.kind === 'text' ? part.cited : [])),
    calls: parts.flatMap((part) => {
      if (part.kind !== 'call') return [];
      const { id, name, args } = part;
      return [{ id, name, args }];
    }),
    stop,
    usage,
  };
}

const words = fc.string({ minLength: 1, maxLength: 30, unit: 'grapheme' });
/** Begins as no other text does, so that tests find it wherever it goes. */
const base64 = fc
  .base64String({ minLength: 4, maxLength: 40 })
  .map((text) => `U0lHTkFUVVJF${text}`);
const args = fc.dictionary(
  fc.string({ minLength: 1, maxLength: 8 }).filter((name) => name !== '__proto__'),
  fc.oneof(words, fc.integer(), fc.boolean(), fc.constant(null), fc.array(words, { maxLength: 2 })),
  { maxKeys: 4 },
);

const thought = fc.record({ kind: fc.constant('thought'), text: words, signature: base64 });
const hidden = fc.record({ kind: fc.constant('hidden'), data: base64 });
const source = fc.record({ url: fc.webUrl(), title: words });
const text = fc.record({
  kind: fc.constant('text'),
  text: words,
  cited: fc.array(source, { maxLength: 2 }),
});
const call = fc.record({
  kind: fc.constant('call'),
  name: fc.constantFrom('weather', 'read_file', 'search'),
  args,
});

const usage = fc
  .record({
    uncached: fc.nat(9999),
    cached: fc.nat(999),
    written: fc.nat(99),
    spoken: fc.nat(999),
    reasoning: fc.nat(999),
  })
  .map(({ uncached, cached, written, spoken, reasoning }) => ({
    input: uncached + cached + written,
    cached,
    written,
    output: spoken + reasoning,
    reasoning,
  }));

export interface AnswerKinds {
  /** Whether a thought may be hidden. */
  readonly hidden: boolean;
  readonly refusals: boolean;
  readonly citations: boolean;
  readonly thoughts?: boolean;
}

/** Answers with reasoning first, then a text, then calls, as models give them. */
export function answersOf(kinds: AnswerKinds): fc.Arbitrary<Answer> {
  const usual = fc
    .record({
      thoughts: fc.array(thought, { maxLength: kinds.thoughts === false ? 0 : 2 }),
      hidden: fc.array(hidden, { maxLength: kinds.hidden ? 1 : 0 }),
      texts: fc.array(text, { maxLength: 1 }),
      calls: fc.array(call, { maxLength: 3 }),
      cut: fc.constantFrom<Stop | null>(null, null, null, 'length', 'filter'),
      usage,
    })
    .filter(({ texts, calls }) => texts.length + calls.length > 0)
    .map(({ thoughts, hidden: none, texts, calls, cut, usage: used }): Answer => {
      const spoken = kinds.citations ? texts : texts.map((one) => ({ ...one, cited: [] }));
      const called = calls.map((one, at) => ({ ...one, id: `call_${at}` }));
      const parts = [...thoughts, ...none, ...spoken, ...called] as AnswerPart[];
      return { parts, stop: cut ?? (calls.length > 0 ? 'calls' : 'end'), usage: used };
    });
  if (!kinds.refusals) return usual;
  const refused = fc.record({ words, usage }).map(({ words: reason, usage: used }): Answer => {
    return { parts: [{ kind: 'refusal', text: reason }], stop: 'end', usage: used };
  });
  return fc.oneof({ weight: 5, arbitrary: usual }, { weight: 1, arbitrary: refused });
}

/** Places at which texts and bytes are cut. */
export const places = fc.array(fc.nat(), { minLength: 1, maxLength: 12 });

/** Cuts a text into pieces; not within a surrogate pair, because no provider does. */
export function piecesOf(whole: string, at: readonly number[]): string[] {
  const chars = [...whole];
  if (chars.length === 0) return [''];
  const ends = [...new Set(at.map((place) => place % chars.length))].sort((a, b) => a - b);
  const bounds = [0, ...ends.filter((end) => end > 0), chars.length];
  return bounds.slice(1).map((end, index) => chars.slice(bounds[index], end).join(''));
}

/** Cuts bytes anywhere. */
export function chunksOf(bytes: Buffer, at: readonly number[]): Buffer[] {
  const ends = [...new Set(at.map((place) => place % bytes.length))].sort((a, b) => a - b);
  const bounds = [0, ...ends.filter((end) => end > 0), bytes.length];
  return bounds.slice(1).map((end, index) => bytes.subarray(bounds[index], end));
}
