/** Finds English profanity, also with letters replaced or repeated, word by word. */
import { LRUCache } from 'lru-cache';
import type { RegExpMatcher } from 'obscenity';
import { foldText } from '../folded-text.ts';
import { findInPieces, type Span, type SpanSearch } from '../span.ts';

/** Terms of the library that are profane wherever they stand; others also have a clinical or plain meaning. */
const profaneTerms: ReadonlySet<string> = new Set([
  'arse',
  'ass',
  'bitch',
  'blowjob',
  'bollocks',
  'boob',
  'cock',
  'cuck',
  'cunt',
  'deepthroat',
  'dick',
  'dildo',
  'fag',
  'fuck',
  'gangbang',
  'handjob',
  'jizz',
  'kike',
  'nigger',
  'piss',
  'prick',
  'pussy',
  'shit',
  'slut',
  'tit',
  'turd',
  'twat',
  'wank',
  'whore',
]);

/** Words that contain a term, or look like one, and are not profane. */
const plainWords =
  /^(?:arses?nal|ass(?:[aeio]|w|y)|ass$|asses$|as{2}t|boob(?:ial|oo|y|ies)|booby|co(?:ck|k)(?:pit|s?comb|sure|swain|s?foot|tail|er|roach|atoo|y|ed|ing|le|ney|s?$)|cuckoo|cuckold|dick(?:s|$|ens|ey|y|ie|er)|fukuoka|fukushima|fag(?:in|ot|us|ac|s?$)|feck|haboob|klondike|maffick|medick|moc?cuck|nebbich|niggard|peacock|piss(?:oir)|prick(?:s?$|l|ed|ing)|pussy(?:cat|foot|$)|puss(?:y|ies)$|shi?it(?:ak|ake)|shii|shitt(?:im|ah)|shitzu|slutch|tits?$|titt?(?:le|mouse|er|ies?$)|traffick|twattl|wankel)/;

/** A word with signs that stand for letters: `sh1t`, `b!tch`. */
const word = /(?<![\p{L}\p{N}@$!*])[\p{L}\p{N}@$!*]{2,40}(?![\p{L}\p{N}@*])/gu;
/** Letters with a blank, dot or hyphen between all of them: `f u c k`. */
const spacedWord = /(?<![\p{L}\p{N}])\p{L}(?:([ .\-_*])\p{L})(?:\1\p{L}){1,10}(?![\p{L}\p{N}])/gu;
const margin = 64;

/** Words that were judged before. */
const wordsMax = 20_000;

let matcher: ProfanityMatcher | undefined;

class ProfanityMatcher {
  readonly #matcher: RegExpMatcher;
  readonly #termOf: (text: string) => readonly Term[];
  readonly #known = new LRUCache<string, boolean>({ max: wordsMax });

  constructor(library: typeof import('obscenity')) {
    const { englishDataset, englishRecommendedTransformers, RegExpMatcher: Matcher } = library;
    this.#matcher = new Matcher({ ...englishDataset.build(), ...englishRecommendedTransformers });
    this.#termOf = (text) =>
      this.#matcher.getAllMatches(text).map((match) => ({
        term: englishDataset.getPayloadWithPhraseMetadata(match).phraseMetadata?.originalWord ?? '',
        length: match.endIndex + 1 - match.startIndex,
      }));
  }

  isProfane(text: string): boolean {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const isProfane = this.#judge(text);
    this.#known.set(text, isProfane);
    return isProfane;
  }

  #judge(text: string): boolean {
    // Identifiers such as `wAnalytics` are no words.
    if (/\p{Ll}\p{Lu}/u.test(text)) return false;
    const lower = text.toLowerCase();
    if (plainWords.test(lower)) return false;
    const isPlain = /^[a-z]+$/.test(lower);
    if (!isPlain && (lower.match(/[a-z]/g)?.length ?? 0) < 2) return false;
    return this.#termOf(lower).some(
      // Signs stand for letters in a word of its own only, not in a hash or a path.
      ({ term, length }) => profaneTerms.has(term) && (isPlain || length >= lower.length - 1),
    );
  }
}

interface Term {
  readonly term: string;
  readonly length: number;
}

/** Loads the list of words on first use. */
export async function loadProfanitySearch(): Promise<SpanSearch> {
  const library = await import('obscenity');
  matcher ??= new ProfanityMatcher(library);
  return profanitySearch;
}

/** The search if its words are loaded. */
export function loadedProfanitySearch(): SpanSearch | undefined {
  return matcher === undefined ? undefined : profanitySearch;
}

function profanitySearch(original: string) {
  return findInPieces(original, margin, (piece) => {
    const { text, startOf, endOf } = foldText(piece);
    const spans: Span[] = [];
    const add = (index: number, length: number): void => {
      spans.push({ start: startOf(index), end: endOf(index + length), label: 'PROFANITY' });
    };
    for (const { 0: match, index } of text.matchAll(word)) {
      const name = match.replace(/[!*]+$/, '');
      if (matcher!.isProfane(name)) add(index, name.length);
    }
    for (const { 0: match, index, 1: separator } of text.matchAll(spacedWord)) {
      const letters = match.replaceAll(separator!, '');
      const start = firstOfProfane(letters);
      if (start !== null) add(index + 2 * start, match.length - 2 * start);
    }
    return spans;
  });
}

/** Where the profane part of spaced letters starts: `a f u c k` starts with another word. */
function firstOfProfane(letters: string): number | null {
  if (!matcher!.isProfane(letters)) return null;
  let start = 0;
  while (matcher!.isProfane(letters.slice(start + 1))) start += 1;
  return start;
}
