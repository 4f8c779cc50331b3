/** Finds amounts of output in members that an endpoint does not list, because a provider may read them as well. */
import { memberNames } from '../../model/json/lazy-object.ts';
import { isFreeMember, wordsOfName } from '../../model/json/member-name.ts';

type Params = Readonly<Record<string, unknown>>;

/** A number asks for the tokens of one copy, for the part of them that may be thoughts, or for copies. */
type AmountKind = 'tokens' | 'thoughts' | 'copies';

export interface OutputAmount {
  readonly kind: AmountKind;
  /** Names from the top, joined by dots. */
  readonly path: string;
  readonly value: number;
}

export interface OutputAmounts {
  readonly found: readonly OutputAmount[];
  /** Member in which more members than {@link visitsMax} would have to be read; null for none. */
  readonly unread: string | null;
}

/** Members of a request beside its texts and tools that are read at most. */
const visitsMax = 4_096;

/** Members of the body that contain texts, tools and schemas, in which a number asks for nothing. */
const contentMembers: ReadonlySet<string> = new Set([
  'contents',
  'content',
  'documents',
  'functions',
  'input',
  'inputs',
  'instructions',
  'logit_bias',
  'messages',
  'metadata',
  'client_metadata',
  'headers',
  'prediction',
  'prompt',
  'response_format',
  'system',
  'systemInstruction',
  'text',
  'toolConfig',
  'tool_choice',
  'tools',
]);
/** Schemas of an output have numbers such as `maxLength`. */
const schemaMember = /schema|guided|structured|grammar|json/i;

/** A quick test of names; most pass it and are not divided into words. */
const mayBeAmount =
  /tok|predict|len|budget|sequence|generation|completion|candidate|choice|sample|image|output|result|beam|best|batch|^[^a-z\d]*n[^a-z\d]*$/i;

const tokenWords = new Set(['token', 'tokens', 'tok', 'toks', 'predict']);
const lengthWords = new Set(['len', 'length']);
const thoughtWords = new Set(['thinking', 'reasoning', 'thoughts']);
/** Words of amounts that bound no output, such as `truncate_prompt_tokens` and `stop_token_ids`. */
const otherWords = new Set([
  'bad',
  'bos',
  'cache',
  'cached',
  'context',
  'ctx',
  'eos',
  'id',
  'ids',
  'input',
  'keep',
  'logprobs',
  'min',
  'ngram',
  'pad',
  'penalty',
  'prompt',
  'skip',
  'special',
  'stop',
  'truncate',
]);
const copyWords = new Set([
  'beams',
  'candidates',
  'choices',
  'completions',
  'generations',
  'images',
  'outputs',
  'samples',
  'sequences',
]);
const copiedWords = new Set(['batch', 'beam', 'candidate', 'image', 'sample']);
const countWords = new Set(['count', 'n', 'num', 'number']);

/** Returns what a number in a member of this name asks for; null for something else than output. */
function kindOf(name: string): AmountKind | null {
  if (!mayBeAmount.test(name)) return null;
  const words = wordsOfName(name.normalize('NFKC')).filter((word) => word !== '');
  const has = (some: ReadonlySet<string>): boolean => words.some((word) => some.has(word));
  if (asksForCopies(words, has)) return 'copies';
  if (has(otherWords)) return null;
  if (words.includes('budget')) return has(thoughtWords) || has(tokenWords) ? 'thoughts' : null;
  if (has(tokenWords)) return 'tokens';
  if (words.includes('max') && has(lengthWords)) return 'tokens';
  return null;
}

function asksForCopies(
  words: readonly string[],
  has: (some: ReadonlySet<string>) => boolean,
): boolean {
  if (words.length === 1 && words[0] === 'n') return true;
  if (copyPairs.some((pair) => pair.every((word) => words.includes(word)))) return true;
  if (words.includes('results')) return has(countWords) && !words.includes('search');
  return has(copyWords) || (has(copiedWords) && has(countWords));
}

const copyPairs = [
  ['best', 'of'],
  ['beam', 'width'],
  ['batch', 'size'],
];

/** A number, or its decimal digits in a string, which some providers convert; null for anything else. */
function amountOf(value: unknown): number | null {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^\s*\d{1,15}\s*$/.test(value) ? Number(value) : null;
}

/** Whether a member contains no amounts: texts, tools, schemas, and what the caller chooses freely. */
function isContent(owner: object, name: string): boolean {
  if (contentMembers.has(name) || schemaMember.test(name)) return true;
  // Outside of tools, parameters are those of the request.
  return name !== 'parameters' && isFreeMember(owner, name);
}

/** Returns all amounts beside the texts, those in the listed members of the endpoint too. */
export function outputAmounts(params: Params): OutputAmounts {
  const found: OutputAmount[] = [];
  let visits = 0;
  const visit = (owner: Params, name: string, path: string): boolean => {
    visits += 1;
    if (visits > visitsMax) return false;
    if (isContent(owner, name)) return true;
    const value = owner[name];
    if (typeof value === 'object' && value !== null) {
      return Object.keys(value).every((below) => visit(value as Params, below, `${path}.${below}`));
    }
    const amount = amountOf(value);
    const kind = amount === null ? null : kindOf(name);
    if (kind !== null) found.push({ kind, path, value: amount! });
    return true;
  };
  const unread = memberNames(params).find((name) => !visit(params, name, name));
  return { found, unread: unread ?? null };
}

/** Whether an amount asks for more tokens than `most`. A negative budget of thoughts leaves them to the model. */
export function exceeds({ kind, value }: Pick<OutputAmount, 'kind' | 'value'>, most: number) {
  if (kind === 'copies') return false;
  return kind === 'thoughts' ? value > most : !(value >= 0 && value <= most);
}

/** The value of a top-level member with every amount of tokens lowered to `most`. */
export function withTokensAtMost(name: string, value: unknown, most: number): unknown {
  if (Array.isArray(value)) return value.map((item) => withTokensAtMost('', item, most));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([below, inner]) => [
        below,
        isContent(value, below) ? inner : withTokensAtMost(below, inner, most),
      ]),
    );
  }
  const amount = amountOf(value);
  const kind = amount === null ? null : kindOf(name);
  return kind !== null && exceeds({ kind, value: amount! }, most) ? most : value;
}
