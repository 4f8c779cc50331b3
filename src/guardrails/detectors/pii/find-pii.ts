/** Finds personal data of the requested categories in a text. */
import type { PiiCategory } from '../../../model/guardrails/pii-categories.ts';
import { foldText } from '../folded-text.ts';
import { findInPieces, type Span, type SpanSearch, withoutOverlaps } from '../span.ts';
import { findEmails, findIpAddresses, findPhoneNumbers, type PhoneRules } from './contact-forms.ts';
import { longNumber, type NumberForm, numberForms } from './number-forms.ts';

/** Data that recognisers need; see {@link loadPiiRules}. */
export interface PiiRules {
  readonly phone: PhoneRules;
  readonly domains: ReadonlySet<string>;
}

/** The longest match, and the distance of the words before it, are shorter. */
const margin = 400;
const contextCharacters = 60;

let rules: PiiRules | undefined;

/** Loads the numbering plans of all countries and the top-level domains on first use. */
export async function loadPiiRules(): Promise<PiiRules> {
  const [{ parsePhoneNumberFromString: parse }, { default: metadata }, { default: domains }] =
    await Promise.all([
      import('libphonenumber-js/core'),
      import('libphonenumber-js/metadata.max.json'),
      import('tlds', { with: { type: 'json' } }),
    ]);
  rules ??= { phone: { parse, metadata }, domains: new Set(domains) };
  return rules;
}

/** The rules if they are loaded. */
export function loadedPiiRules(): PiiRules | undefined {
  return rules;
}

/** Returns a search for some categories. Places are those of the text as sent, whatever it hides. */
export function piiSearch(
  categories: ReadonlySet<PiiCategory>,
  { phone, domains }: PiiRules,
): SpanSearch {
  const forms = numberForms.filter(({ category }) => categories.has(category));
  const find = (original: string): Span[] => {
    const { text, startOf, endOf } = foldText(original);
    const spans: Span[] = [];
    if (categories.has('EMAIL_ADDRESS')) spans.push(...findEmails(text, domains));
    if (/\d/.test(text)) {
      if (categories.has('IP_ADDRESS')) spans.push(...findIpAddresses(text));
      const hasLongNumber = longNumber.test(text);
      for (const form of forms) {
        if (hasLongNumber || form.hasLetters === true) spans.push(...findNumbers(text, form));
      }
      if (categories.has('PHONE_NUMBER')) spans.push(...findPhoneNumbers(text, phone));
    }
    return withoutOverlaps(spans).map(({ start, end, label }) => ({
      start: startOf(start),
      end: endOf(end),
      label,
    }));
  };
  return (text) => findInPieces(text, margin, find);
}

function* findNumbers(text: string, form: NumberForm): Generator<Span> {
  const { category, pattern, isValid, context, keepsCase } = form;
  if (context !== undefined && !context.test(text)) return;
  for (const { 0: match, index } of text.matchAll(pattern)) {
    const before = text.slice(Math.max(0, index - contextCharacters), index);
    if (context !== undefined && !context.test(before)) continue;
    const compact = match.replace(/[ ./-]/g, '');
    if (!isValid(keepsCase === true ? compact : compact.toUpperCase(), match)) continue;
    yield { start: index, end: index + match.length, label: category };
  }
}
