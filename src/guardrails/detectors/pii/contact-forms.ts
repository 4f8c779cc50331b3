/** Recognises e-mail addresses, telephone numbers and IP addresses. */
import { isIPv4, isIPv6 } from 'node:net';
import type { CountryCode, MetadataJson, parsePhoneNumberFromString } from 'libphonenumber-js/core';
import type { Span } from '../span.ts';

/** Names of hosts that are no top-level domains but occur in addresses of an organisation. */
const internalDomains = ['corp', 'home', 'internal', 'intranet', 'lan', 'local', 'localdomain'];
/** Accounts of machines, as in `git@github.com`. */
const machineAccounts = new Set([
  'git',
  'hg',
  'svn',
  'root',
  'ubuntu',
  'ec2-user',
  'admin',
  'deploy',
]);
const localCharactersMax = 64;
const domainCharactersMax = 253;
/** Signs of local parts beside letters, digits and the underscore, with which they do not begin. */
const localSigns = ".!#$%'*+^~-";
const letterOrDigit = /^[\p{L}\p{N}]$/u;
const domainPart =
  /^(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,62})\.){1,8}(\p{L}{2,24}|xn--[a-z\d-]{2,59})(?![\p{L}\p{N}_]|-[\p{L}\p{N}]|@)/u;
/** The at sign and dots written as words in brackets: `jane (at) example (dot) org`. */
const spelledOut =
  /(?<![\w.+-])[\w.+-]{1,64} ?[([{<] ?(?:at|@) ?[)\]}>] ?(?:[\w-]{1,63}(?:\.| ?[([{<] ?(?:dot|\.) ?[)\]}>] ?)){1,4}([a-z]{2,24})(?![\w-])/gi;

/** Finds addresses whose top-level domain is in `domains`. */
export function findEmails(text: string, domains: ReadonlySet<string>): Span[] {
  const spans: Span[] = [];
  const isDomain = (name: string): boolean => {
    const lower = name.toLowerCase();
    return domains.has(lower) || lower.startsWith('xn--') || internalDomains.includes(lower);
  };
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    const local = localPartBefore(text, at);
    if (local === '') continue;
    const domain = domainPart.exec(text.slice(at + 1, at + 1 + domainCharactersMax));
    if (domain === null || !isDomain(domain[1]!)) continue;
    const start = at - local.length;
    const end = at + 1 + domain[0].length;
    if (isMachineAddress(text, local, start, end)) continue;
    spans.push({ start, end, label: 'EMAIL_ADDRESS' });
  }
  if (/[([{<] ?(?:at|@)/i.test(text)) {
    for (const match of text.matchAll(spelledOut)) {
      if (!isDomain(match[1]!)) continue;
      const end = match.index + match[0].length;
      spans.push({ start: match.index, end, label: 'EMAIL_ADDRESS' });
    }
  }
  return spans;
}

/** The longest local part that ends at a place; '' for none. */
function localPartBefore(text: string, end: number): string {
  const least = Math.max(0, end - localCharactersMax);
  let start = end;
  for (let at = end; at > least; ) {
    at -= at - 2 >= least && text.codePointAt(at - 2)! > 0xffff ? 2 : 1;
    const character = text.codePointAt(at)!;
    if (isLocalStart(character)) start = at;
    else if (character > 127 || !localSigns.includes(String.fromCharCode(character))) break;
  }
  return text.slice(start, end);
}

function isLocalStart(character: number): boolean {
  if (character > 127) return letterOrDigit.test(String.fromCodePoint(character));
  const isDigit = character >= 48 && character <= 57;
  const isLetter = (character | 32) >= 97 && (character | 32) <= 122;
  return isDigit || isLetter || character === 95;
}

/** Remotes of repositories, `user:password@host` in URLs, and hosts in copy commands are no addresses of people. */
function isMachineAddress(text: string, local: string, start: number, end: number): boolean {
  const account = local.toLowerCase();
  if (account === 'git' || account === 'hg') return true;
  if (machineAccounts.has(account) && /^:[\w~/]/.test(text.slice(end, end + 2))) return true;
  return /:\/\/[^\s/@]{0,200}$/.test(text.slice(Math.max(0, start - 210), start));
}

const addressV4 =
  /(?<![\w.+-]|[A-Za-z]\/)(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d|-\w)(?:\/\d{1,2}(?!\d))?/g;
const versionWords = /\b(?:v|ver|version|release|build|firmware|rev)\.? ?[:=]? ?["'(]?$/i;
const addressV6 = /(?<![\w:.])[23][\da-f]{3}(?::[\da-f]{0,4}){2,7}(?![\w:])/gi;

/**
 * Finds public IP addresses. Addresses of private networks, of the own host, multicast addresses, masks and
 * networks in CIDR notation identify nobody.
 */
export function findIpAddresses(text: string): Span[] {
  const spans: Span[] = [];
  const add = (start: number, address: string): void => {
    spans.push({ start, end: start + address.length, label: 'IP_ADDRESS' });
  };
  for (const { 0: match, index } of text.matchAll(addressV4)) {
    const [address = '', bits] = match.split('/');
    if (!isIPv4(address) || !isPublicV4(address.split('.').map(Number), bits)) continue;
    if (versionWords.test(text.slice(Math.max(0, index - 24), index))) continue;
    add(index, address);
  }
  for (const { 0: address, index } of text.matchAll(addressV6)) {
    if (isIPv6(address) && !/^2001:0?db8:/i.test(address)) add(index, address);
  }
  return spans;
}

function isPublicV4([a = 0, b = 0, c = 0, d = 0]: number[], bits: string | undefined): boolean {
  if (bits !== undefined && Number(bits) < 32 && d === 0) return false;
  if (a === 0 || a === 10 || a === 127 || a >= 224) return false;
  if (a === 100 && b >= 64 && b < 128) return false;
  if (a === 169 && b === 254) return false;
  if (a === 172 && b >= 16 && b < 32) return false;
  if (a === 192 && (b === 168 || (b === 0 && (c === 0 || c === 2)))) return false;
  if (a === 198 && (b === 18 || b === 19 || (b === 51 && c === 100))) return false;
  return !(a === 203 && b === 0 && c === 113);
}

/** The parts of libphonenumber-js that are loaded when first needed. */
export interface PhoneRules {
  readonly parse: typeof parsePhoneNumberFromString;
  readonly metadata: MetadataJson;
}

const phoneWords =
  /(?:\b(?:phone|tel|call|cell|mobile|mobil|fax|whatsapp|signal|sms|text me|hotline|handy|ring|dial|reach (?:me|us) (?:at|on)|contact)|t[ée]l[ée]|tel[eé]fono|telefon|rufnummer|m[óo]vil|celular|cellulare|portable|電話|手机|电话)/i;
/** Digits with blanks, hyphens, dots, slashes and one pair of brackets, from 7 to 15 digits. */
const phoneForm = String.raw`(?:\(\d{1,5}\)|\d)(?:[ .\/-]{0,2}(?:\(\d{1,5}\)|\d)){5,16}`;
const international = new RegExp(
  String.raw`(?<![\w+.=-])(?:\+|00(?=[1-9]))${phoneForm}(?![\w]|[.,:-]\d)`,
  'g',
);
const national = new RegExp(String.raw`(?<![\w+.,:=/$€£#-])${phoneForm}(?![\w]|[.,:/-]\d|%)`, 'g');
/** The North American form: 415-555-2671, (415) 555-2671, 415.555.2671. */
const american =
  /(?<![\w+.,:=/$€£#-])(?:1[ .-])?(?:\([2-9]\d\d\) ?|[2-9]\d\d([.-]))[2-9]\d\d([.-])\d{4}(?![\w]|[.,:/-]\d|[-_]\w|%)/g;
/** A date such as 2026-03-31, which plans of several countries accept as a number. */
const isoDate = /^(?:19|20)\d\d([-./])(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])$/;
const contextCharacters = 40;

/** Countries whose national forms are recognised behind a word such as "phone". */
const contextCountries: readonly CountryCode[] = [
  'US',
  'GB',
  'DE',
  'FR',
  'ES',
  'IT',
  'NL',
  'CH',
  'AT',
  'BE',
  'PT',
  'PL',
  'SE',
  'IN',
  'BR',
  'MX',
  'AU',
  'JP',
  'CN',
];

/**
 * Validations in one text, each of which takes about a tenth of a millisecond. In a text with more numbers the
 * others count without validation, so that nobody hides a number behind many.
 */
const validationsMax = 150;

/**
 * Finds numbers in international form that are valid in the plan of their country, numbers in the North
 * American form, and national numbers behind a word such as "phone" or "Telefon".
 */
export function findPhoneNumbers(text: string, rules: PhoneRules): Span[] {
  const spans: Span[] = [];
  const add = ({ 0: match, index }: RegExpExecArray): void => {
    spans.push({ start: index, end: index + match.length, label: 'PHONE_NUMBER' });
  };
  const isValid = validatorOf(rules);
  for (const match of text.matchAll(international)) {
    if (isValid(match[0].replace(/^00/, '+'))) add(match);
  }
  for (const match of text.matchAll(american)) {
    const [, first, second] = match;
    if ((first === undefined || first === second) && !/^(\d)\1\1/.test(match[0])) add(match);
  }
  if (!phoneWords.test(text)) return spans;
  for (const match of text.matchAll(national)) {
    const before = text.slice(Math.max(0, match.index - contextCharacters), match.index);
    if (!phoneWords.test(before) || isoDate.test(match[0])) continue;
    if (contextCountries.some((country) => isValid(match[0], country))) add(match);
  }
  return spans;
}

function validatorOf({ parse, metadata }: PhoneRules) {
  let validations = 0;
  return (number: string, country?: CountryCode): boolean => {
    validations += 1;
    if (validations > validationsMax) return true;
    const parsed =
      country === undefined ? parse(number, metadata) : parse(number, country, metadata);
    return parsed?.isValid() === true;
  };
}
