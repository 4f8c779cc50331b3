/** Finds secrets such as keys and tokens: first the keywords of the rules, then matches around them. */
import { LRUCache } from 'lru-cache';
import type { Slices } from '../../../slices.ts';
import { foldText } from '../folded-text.ts';
import { type Span, type SpanSearch, searchInPieces, withoutOverlaps } from '../span.ts';
import { furtherRules } from './further-rules.ts';
import { genericRules, type RuleData, SecretRule, type SecretRuleData } from './secret-rule.ts';

let rules: SecretRuleData | undefined;

/** Loads the rules on first use. */
export async function loadSecretRules(): Promise<SecretRuleData> {
  const { default: data } = await import('./gitleaks-rules.json', { with: { type: 'json' } });
  rules ??= { ...data, rules: [...(data.rules as RuleData[]), ...furtherRules] };
  return rules;
}

/** The rules if they are loaded. */
export function loadedSecretRules(): SecretRuleData | undefined {
  return rules;
}

interface KeywordIndex {
  /** Finds the longest keyword at a place. */
  readonly pattern: RegExp;
  /** Rules by keyword, with those of its shorter prefixes. */
  readonly rules: ReadonlyMap<string, readonly SecretRule[]>;
}

/** Long texts are searched in pieces; the margin is longer than the furthest reach of a rule. */
const textPieces = { length: 32 * 1024, margin: 20 * 1024 };
/** Longest part of a text that one pattern searches at once, unless its match is longer. */
const windowCharactersMax = 4 * 1024;
/** A match that reaches the end of its window is searched again in a larger one, up to this length. */
const widestCharactersMax = 32 * 1024;

/** Searches by the rules that they leave out. Inline guardrails are built anew for each request. */
const searches = new LRUCache<string, SpanSearch>({ max: 100 });

/** Returns a search by all rules but those in `excluded`, and with the generic rules if `isGeneric`. */
export function secretSearch(
  data: SecretRuleData,
  excluded: readonly string[],
  isGeneric: boolean,
): SpanSearch {
  const key = JSON.stringify([isGeneric, excluded.toSorted()]);
  const search = searches.get(key) ?? makeSearch(data, excluded, isGeneric);
  searches.set(key, search);
  return search;
}

function makeSearch(
  { allowlist, rules: all }: SecretRuleData,
  excluded: readonly string[],
  isGeneric: boolean,
): SpanSearch {
  const selected = all.filter(
    ({ id }) => !excluded.includes(id) && (isGeneric || !genericRules.includes(id)),
  );
  const byKeyword = new Map<string, SecretRule[]>();
  for (const data of selected) {
    const rule = new SecretRule(data, allowlist);
    for (const keyword of data.keywords) {
      byKeyword.set(keyword, [...(byKeyword.get(keyword) ?? []), rule]);
    }
  }
  const index = indexOfKeywords(byKeyword);
  const search: SpanSearch = function* (original) {
    const { text, startOf, endOf } = foldText(original);
    const spans = [...(yield* findPlain(text, index)), ...(yield* findEncoded(text, index))];
    return withoutOverlaps(spans).map(({ start, end, label }) => ({
      start: startOf(start),
      end: endOf(end),
      label,
    }));
  };
  return (text) => searchInPieces(text, textPieces, search);
}

function indexOfKeywords(byKeyword: ReadonlyMap<string, readonly SecretRule[]>): KeywordIndex {
  const keywords = [...byKeyword.keys()].toSorted((a, b) => b.length - a.length);
  const escaped = keywords.map((keyword) => keyword.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return {
    pattern: new RegExp(escaped.join('|'), 'gi'),
    rules: new Map(
      keywords.map((keyword) => [
        keyword,
        keywords
          .filter((other) => keyword.startsWith(other))
          .flatMap((other) => byKeyword.get(other)!),
      ]),
    ),
  };
}

/** Returns the secrets that stand in the text itself. */
function* findPlain(text: string, index: KeywordIndex): Slices<Span[]> {
  const spans: Span[] = [];
  const places = keywordPlaces(text, index);
  for (const [rule, at] of places) {
    for (const [from, to] of windowsAround(at, rule, text.length)) {
      spans.push(...matchesIn(text, rule, from, to));
      yield;
    }
  }
  return spans;
}

function keywordPlaces(
  text: string,
  { pattern, rules: byKeyword }: KeywordIndex,
): Map<SecretRule, number[]> {
  const places = new Map<SecretRule, number[]>();
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    for (const rule of byKeyword.get(match[0].toLowerCase())!) {
      const known = places.get(rule);
      if (known === undefined) places.set(rule, [match.index]);
      else known.push(match.index);
    }
    // Keywords can overlap.
    pattern.lastIndex = match.index + 1;
  }
  return places;
}

/** Joins the surroundings of keywords, and divides long ones into windows that overlap by the reach of the rule. */
function* windowsAround(
  places: readonly number[],
  { before, after }: SecretRule,
  length: number,
): Generator<readonly [number, number]> {
  for (let first = 0; first < places.length; ) {
    let last = first;
    const from = Math.max(0, places[first]! - before);
    const isJoined = (next: number): boolean =>
      next - before <= places[last]! + after && next - from <= windowCharactersMax;
    while (last + 1 < places.length && isJoined(places[last + 1]!)) last += 1;
    yield [from, Math.min(length, places[last]! + after)];
    first = last + 1;
  }
}

function* matchesIn(text: string, rule: SecretRule, from: number, to: number): Generator<Span> {
  const window = text.slice(from, to);
  for (let at = 0; ; ) {
    const match = rule.next(window, at);
    if (match === null) return;
    const isCut =
      (match.start === 0 && from > 0) || (match.end === window.length && to < text.length);
    if (isCut && window.length < widestCharactersMax) {
      const width = window.length;
      yield* matchesIn(
        text,
        rule,
        Math.max(0, from - rule.before),
        Math.min(text.length, to + width),
      );
      return;
    }
    yield { start: from + match.secretStart, end: from + match.secretEnd, label: rule.id };
    at = Math.max(match.end, at + 1);
  }
}

/** Text in base64, of which a secret would have at least this many characters. */
const base64Run = /(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{24,}/g;
const encodedCharactersMax = 16 * 1024;
const headCharacters = 24;

/** Returns the base64 texts that contain a secret, as a whole. */
function* findEncoded(text: string, index: KeywordIndex): Slices<Span[]> {
  const spans: Span[] = [];
  let characters = 0;
  for (const { 0: run, index: start } of text.matchAll(base64Run)) {
    characters += run.length;
    if (characters > windowCharactersMax) {
      yield;
      characters = 0;
    }
    if (!isText(run.slice(0, headCharacters)) || run.length > encodedCharactersMax) continue;
    const decoded = Buffer.from(run, 'base64').toString('latin1');
    const [found] = yield* findPlain(decoded, index);
    if (found !== undefined) spans.push({ start, end: start + run.length, label: found.label });
  }
  return spans;
}

function isText(base64: string): boolean {
  return /^[\t\n\r\x20-\x7e]*$/.test(Buffer.from(base64, 'base64').toString('latin1'));
}
