/** Finds what makes a definition suspicious: hidden characters, instructions to a model, encoded data, unsafe addresses. */
import { isObject } from '../json/read-object.ts';
import { visibleText } from './visible-text.ts';

export const definitionWarningCodes = [
  'hidden_characters',
  'instructions',
  'encoded_data',
  'unsafe_uri',
] as const;

/** One suspicious text. */
export interface DefinitionWarning {
  readonly code: (typeof definitionWarningCodes)[number];
  /** Such as `inputSchema.properties.path.default`; the text may also be the name of the last member. */
  readonly field: string;
  /** Part of the text, with hidden characters escaped. */
  readonly excerpt: string;
}

const warningsMax = 20;
const fieldCharsMax = 120;
const excerptChars = 60;
const charsBefore = 10;
/** Longer texts are examined up to here. */
const textCharsMax = 64 * 1024;

/** `text` is canonical JSON. */
export function definitionWarnings(text: string): DefinitionWarning[] {
  const warnings: DefinitionWarning[] = [];
  examine([], JSON.parse(text), warnings);
  return warnings;
}

function examine(path: readonly string[], value: unknown, warnings: DefinitionWarning[]): void {
  if (warnings.length >= warningsMax) return;
  if (typeof value === 'string') {
    examineText(path, value, warnings);
    return;
  }
  if (!isObject(value) && !Array.isArray(value)) return;
  for (const [key, item] of Object.entries(value)) {
    const inner = [...path, key];
    if (!Array.isArray(value)) examineText(inner, key, warnings);
    examine(inner, item, warnings);
  }
}

function examineText(path: readonly string[], long: string, warnings: DefinitionWarning[]): void {
  const text = long.slice(0, textCharsMax);
  const field = visibleText(path.join('.'), fieldCharsMax);
  for (const { code, find } of rules) {
    const found = warnings.length < warningsMax ? find(text) : null;
    if (found !== null) {
      warnings.push({ code, field, excerpt: visibleText(found, excerptChars) });
    }
  }
}

interface Rule {
  readonly code: DefinitionWarning['code'];
  /** The text from shortly before the first find; null for none. */
  readonly find: (text: string) => string | null;
}

/** Tags, bidirectional and zero-width characters, fillers, variation selectors, and controls except blanks. */
const hidden =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e00ff}\u{e01f0}-\u{e0fff}]|[\u034f]|[\u17b4-\u17b5]|[\u180b-\u180d\u180f]|[\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]/u;

/** Emoji made of several characters, flags of regions, and joiners between letters of scripts that need them. */
const usual =
  /\u{1f3f4}[\u{e0061}-\u{e007a}]{2,6}\u{e007f}|\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?(?:\u200d\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?){0,8}|[0-9#*]\ufe0f\u20e3|(?<=[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Tamil}\p{Script=Malayalam}\p{Script=Sinhala}\p{Mn}])[\u200c\u200d](?=[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Tamil}\p{Script=Malayalam}\p{Script=Sinhala}])/gu;

/** Applied to folded text without hidden characters. */
const instructions = [
  /<\s*\/?\s*(?:important|system|instructions?|secret|hidden|critical|admin|assistant|user|prompt|override|priority|sidenote|note_to_\w{1,20})\b[^<>]{0,80}>/u,
  /\[\/?(?:inst|system|important)\]|<\|[a-z_]{2,20}\|>/u,
  /\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|all|other|any)\b.{0,40}\b(?:instructions?|rules?|prompts?|messages?|tools?)\b/u,
  /\b(?:do not|don't|never)\b.{0,20}\b(?:tell|mention|inform|notify|reveal|show|alert|disclose)\b.{0,40}\b(?:user|human|anyone|this)\b/u,
  /\b(?:before|prior to|instead of)\b.{0,20}\b(?:using|calling|invoking|running|use|call)\b.{0,20}\b(?:this|any|other|another|all|the)\b.{0,20}\btools?\b/u,
  /\b(?:system prompt|jailbreak)\b/u,
  /(?:~\/|\/(?:home|root|etc)\/\S{0,40}|\.)(?:\.?ssh\/|id_rsa|\.?aws\/credentials|shadow\b|passwd\b)/u,
];

/** A name of a scheme at the start of the text or after a character that cannot continue one. */
const unsafeScheme =
  /(?:^|[^a-z0-9+.-])(?:javascript|vbscript):(?=\S)|(?:^|[^a-z0-9+.-])data:[a-z0-9.+-]{0,60}(?:\/[a-z0-9.+-]{1,60})?(?:;[a-z0-9=.+-]{1,60}){0,4},/u;
const base64 = /[A-Za-z0-9+/_-]{80,}/gu;
const hexadecimal = /(?:[0-9a-f]{2}){64,}|(?:\\x[0-9a-f]{2}){16,}|(?:%[0-9a-f]{2}){16,}/iu;

const rules: readonly Rule[] = [
  { code: 'hidden_characters', find: findHidden },
  { code: 'instructions', find: (text) => firstOf(instructions, foldedText(text)) },
  { code: 'encoded_data', find: findEncoded },
  { code: 'unsafe_uri', find: (text) => firstOf([unsafeScheme], foldedText(text)) },
];

function findHidden(text: string): string | null {
  if (!hidden.test(text)) return null;
  const at = text.replace(usual, (found) => 'x'.repeat(found.length)).search(hidden);
  return at < 0 ? null : textAround(text, at);
}

/** Mixed letters and digits distinguish encoded data from long words. */
function findEncoded(text: string): string | null {
  for (const match of text.matchAll(base64)) {
    const [run] = match;
    if (/[a-z]/.test(run) && /[A-Z]/.test(run) && /[0-9]/.test(run)) return run;
  }
  return firstOf([hexadecimal], text);
}

/** Without compatibility forms, letter case and hidden characters, which would split a word. */
function foldedText(text: string): string {
  const plain = hidden.test(text) ? text.replaceAll(new RegExp(hidden, 'gu'), '') : text;
  return plain.normalize('NFKC').toLowerCase().replaceAll(/\s+/gu, ' ').trimStart();
}

function firstOf(patterns: readonly RegExp[], text: string): string | null {
  const found = patterns.map((pattern) => text.search(pattern)).filter((at) => at >= 0);
  return found.length === 0 ? null : textAround(text, Math.min(...found));
}

function textAround(text: string, at: number): string {
  return text.slice(Math.max(0, at - charsBefore), at + excerptChars);
}
