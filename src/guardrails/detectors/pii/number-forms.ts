/** Recognises numbers of accounts, people and devices by their form, their check digits and words before them. */
import type { PiiCategory } from '../../../model/guardrails/pii-categories.ts';
import {
  digitAt,
  isBase58CheckValid,
  isBech32Valid,
  isLuhnValid,
  isMod11And10Valid,
  isVerhoeffValid,
  mod97,
  weightedSum,
} from './checksums.ts';
import { ibanForm, isIban } from './iban.ts';

/** A form of number. Patterns are global, and each of their repetitions is bounded. */
export interface NumberForm {
  readonly category: PiiCategory;
  readonly pattern: RegExp;
  /** Judges the match without blanks, hyphens, dots and slashes, in upper case unless `keepsCase`. */
  readonly isValid: (compact: string, match: string) => boolean;
  /** Words of which one must stand before the number; absent where form and check digits suffice. */
  readonly context?: RegExp;
  readonly keepsCase?: boolean;
  /** Whether letters may take the place of digits, so that {@link longNumber} says nothing about the form. */
  readonly hasLetters?: boolean;
}

/** Digits of which every form without letters has at least as many in a row. */
export const longNumber = /\d(?:[ ./-]?\d){6}/;

/** A number must not continue in a longer number, word or path. */
const before = String.raw`(?<![\w$€£#@%&=/\\+-]|\d[.,:]|[A-Za-z][._])`;
const after = String.raw`(?![\w]|[.,:/\\-]\d|[-_]\w)`;

function form(body: string, flags = 'g'): RegExp {
  return new RegExp(`${before}(?:${body})${after}`, flags);
}

/** Like {@link form}, for numbers that stand in assignments, addresses and JSON as well; they begin and end with a word character. */
function looseForm(body: string, flags = 'g'): RegExp {
  return new RegExp(String.raw`\b(?:${body})\b`, flags);
}

/** Visa, Mastercard, American Express, Discover, JCB, Diners, Maestro, UnionPay and Mir. */
const issuers: readonly (readonly [RegExp, readonly number[]])[] = [
  [/^4/, [13, 16, 19]],
  [/^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, [16]],
  [/^3[47]/, [15]],
  [/^(?:6011|65|64[4-9])/, [16, 19]],
  [/^35(?:2[89]|[3-8])/, [16, 19]],
  [/^3(?:0[0-5]|095|[689])/, [14, 16, 19]],
  [/^(?:5018|5020|5038|5893|6304|6759|676[1-3])/, [12, 13, 14, 15, 16, 17, 18, 19]],
  [/^62/, [16, 17, 18, 19]],
  [/^220[0-4]/, [16, 17, 18, 19]],
];

const cardWords =
  /\b(?:card|cc|visa|master ?card|amex|american express|carte|karte|tarjeta|cart[aã]o|pan)\b/i;
const isCard = (digits: string): boolean =>
  issuers.some(([start, lengths]) => start.test(digits) && lengths.includes(digits.length)) &&
  !/^(\d)\1+$/.test(digits) &&
  isLuhnValid(digits);

/** Groups of four, or 4-6-5 and 4-6-4. */
const cardGroups = String.raw`\d{4}[ -]?\d{4}[ -]?\d{4}[ -]?\d{4}|\d{4}[ -]?\d{6}[ -]?\d{4,5}`;
const cards: readonly NumberForm[] = [
  { category: 'CREDIT_CARD', pattern: form(cardGroups), isValid: isCard },
  {
    category: 'CREDIT_CARD',
    pattern: looseForm(String.raw`\d(?:[ .-]?\d){11,18}`),
    isValid: isCard,
    context: cardWords,
  },
];

const isSsn = (digits: string): boolean => {
  const [area, group, serial] = [digits.slice(0, 3), digits.slice(3, 5), digits.slice(5)];
  return area !== '000' && area !== '666' && area < '900' && group !== '00' && serial !== '0000';
};

const people: readonly NumberForm[] = [
  { category: 'SSN', pattern: form(String.raw`\d{3}([ -])\d{2}\1\d{4}`), isValid: isSsn },
  {
    category: 'SSN',
    pattern: looseForm(String.raw`\d{3}[ .-]?\d{2}[ .-]?\d{4}`),
    isValid: isSsn,
    context: /\b(?:ssn|ss#|social[ _-]?security|soc[. ]sec|tax ?payer id)/i,
  },
  {
    category: 'CA_SIN',
    pattern: looseForm(String.raw`[1-79]\d{2}([ -]?)\d{3}\1\d{3}`),
    isValid: isLuhnValid,
    context: /\b(?:sin|social[ _-]?insurance|assurance sociale|nas)\b/i,
  },
  {
    category: 'UK_NHS',
    pattern: looseForm(String.raw`\d{3}([ -]?)\d{3}\1\d{4}`),
    isValid: (digits) => {
      const check = 11 - (weightedSum(digits, [10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11);
      return (check === 11 ? 0 : check) === digitAt(digits, 9);
    },
    context: /\b(?:nhs|national health|health service|patient)\b/i,
  },
  {
    category: 'DE_TAX_ID',
    pattern: looseForm(String.raw`[1-9]\d([ /]?)\d{3}\1\d{3}\1\d{3}`),
    isValid: (digits) => hasTaxDigits(digits.slice(0, 10)) && isMod11And10Valid(digits),
    context: /(?:steuer|\bidnr|\btin\b|tax|\bIdentifikationsnummer)/i,
  },
  {
    category: 'BR_CPF',
    pattern: looseForm(String.raw`\d{3}\.\d{3}\.\d{3}-\d{2}`),
    isValid: isCpf,
  },
  {
    category: 'BR_CPF',
    pattern: looseForm(String.raw`\d{11}`),
    isValid: isCpf,
    context: /\b(?:cpf|cadastro de pessoas)\b/i,
  },
  {
    category: 'ES_DNI',
    pattern: looseForm(String.raw`(?:[XYZ][ -]?\d{7}|\d{8})[ -]?[A-HJ-NP-TV-Z]`, 'gi'),
    isValid: (compact) => {
      const number = Number(
        compact.slice(0, -1).replace(/^[XYZ]/, (x) => String('XYZ'.indexOf(x))),
      );
      return 'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23] === compact.at(-1);
    },
    context: /\b(?:dni|nie|nif|documento nacional|identidad|extranjero)\b/i,
  },
  {
    category: 'IT_CODICE_FISCALE',
    hasLetters: true,
    pattern: looseForm(
      String.raw`[A-Z]{6}[ ]?[\dLMNP-V]{2}[A-EHLMPRST][ ]?[\dLMNP-V]{2}[ ]?[A-Z][\dLMNP-V]{3}[A-Z]`,
      'gi',
    ),
    isValid: isCodiceFiscale,
  },
  {
    category: 'IN_AADHAAR',
    pattern: looseForm(String.raw`[2-9]\d{3}([ -]?)\d{4}\1\d{4}`),
    isValid: isVerhoeffValid,
    context: /(?:\ba{1,2}dh?a{1,2}r\b|\buid(?:ai)?\b|आधार)/i,
  },
  {
    category: 'FR_NIR',
    pattern: looseForm(
      String.raw`[12][ ]?\d{2}[ ]?(?:0[1-9]|1[0-2]|[2-9]\d)[ ]?(?:\d{2}|2[AB])[ ]?\d{3}[ ]?\d{3}[ ]?\d{2}`,
    ),
    isValid: (compact, match) => (match.includes(' ') || /[AB]/.test(compact)) && isNir(compact),
  },
  {
    category: 'FR_NIR',
    pattern: looseForm(String.raw`[12]\d{4}(?:\d{2}|2[AB])\d{8}`),
    isValid: isNir,
    context: /(?:\bnir\b|s[ée]curit[ée] sociale|\bn° ?ss\b|carte vitale)/i,
  },
  {
    category: 'CH_AHV',
    pattern: looseForm(String.raw`756([. ]?)\d{4}\1\d{4}\1\d{2}`),
    isValid: (digits) => {
      const sum = weightedSum(digits, [1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3]);
      return (10 - (sum % 10)) % 10 === digitAt(digits, 12);
    },
  },
  {
    category: 'PL_PESEL',
    pattern: looseForm(String.raw`\d{2}[0-38]\d[0-3]\d{6}`),
    isValid: (digits) => {
      const sum = weightedSum(digits, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3]);
      return (10 - (sum % 10)) % 10 === digitAt(digits, 10);
    },
    context: /\bpesel/i,
  },
  {
    category: 'NL_BSN',
    pattern: looseForm(String.raw`\d{9}|\d{4}\.\d{2}\.\d{3}`),
    isValid: (digits) =>
      digits !== '000000000' && weightedSum(digits, [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0,
    context: /\b(?:bsn|burgerservice|sofi)/i,
  },
];

/** One digit occurs two or three times among the first ten, the others at most once. */
function hasTaxDigits(digits: string): boolean {
  const counts = Object.values(Object.groupBy(digits, (digit) => digit)).map((one) => one!.length);
  return counts.filter((count) => count > 1).length === 1 && Math.max(...counts) <= 3;
}

function isCpf(digits: string): boolean {
  if (/^(\d)\1+$/.test(digits)) return false;
  return [9, 10].every((length) => {
    const weights = Array.from({ length }, (_, at) => length + 1 - at);
    return ((weightedSum(digits, weights) * 10) % 11) % 10 === digitAt(digits, length);
  });
}

const oddValues = [
  1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23,
];

function isCodiceFiscale(code: string): boolean {
  let sum = 0;
  for (let at = 0; at < 15; at += 1) {
    const value = Number.parseInt(code[at]!, 36);
    const rank = value > 9 ? value - 10 : value;
    sum += at % 2 === 0 ? oddValues[rank]! : rank;
  }
  return code.charCodeAt(15) - 65 === sum % 26;
}

function isNir(compact: string): boolean {
  const number = compact.replace('2A', '19').replace('2B', '18');
  return 97 - mod97(number.slice(0, 13)) === Number(number.slice(13));
}

const vinWeights = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
const vinValues = '0123456789.ABCDEFGH..JKLMN.P.R..STUVWXYZ';

const things: readonly NumberForm[] = [
  {
    category: 'IBAN',
    hasLetters: true,
    pattern: looseForm(ibanForm),
    isValid: isIban,
  },
  {
    category: 'US_ABA_ROUTING',
    pattern: looseForm(String.raw`(?:0\d|1[0-2]|2[1-9]|3[0-2]|6[1-9]|7[0-2]|80)\d{7}`),
    isValid: (digits) => weightedSum(digits, [3, 7, 1, 3, 7, 1, 3, 7, 1]) % 10 === 0,
    context: /\b(?:aba|routing|rtn|transit)\b/i,
  },
  {
    category: 'VIN',
    hasLetters: true,
    pattern: looseForm(String.raw`[A-HJ-NPR-Z\d]{17}`, 'gi'),
    isValid: (code) => {
      const sum = [...code].reduce(
        (total, character, at) => total + (vinValues.indexOf(character) % 10) * vinWeights[at]!,
        0,
      );
      return /[A-Z]/.test(code) && '0123456789X'[sum % 11] === code[8];
    },
    context: /(?:\bvin\b|vehicle|chassis|fahrgestell|\bfin\b)/i,
  },
  {
    category: 'IMEI',
    pattern: looseForm(String.raw`\d{2}([ -]?)\d{6}\1\d{6}\1\d`),
    isValid: isLuhnValid,
    context: /\bimei/i,
  },
  {
    category: 'CRYPTO_ADDRESS',
    hasLetters: true,
    pattern: looseForm('[13][1-9A-HJ-NP-Za-km-z]{25,34}'),
    isValid: isBase58CheckValid,
    keepsCase: true,
  },
  {
    category: 'CRYPTO_ADDRESS',
    hasLetters: true,
    pattern: looseForm('bc1[ac-hj-np-z02-9]{11,71}', 'gi'),
    isValid: (_, match) => isBech32Valid(match.toLowerCase()),
  },
  {
    category: 'CRYPTO_ADDRESS',
    hasLetters: true,
    pattern: looseForm('0x[0-9a-f]{40}', 'gi'),
    isValid: (compact) => !/^0X(.)\1+$/.test(compact),
  },
];

export const numberForms: readonly NumberForm[] = [...cards, ...people, ...things];
