/** Makes valid numbers of every category of personal data. The check digits are computed apart from src. */
import { createHash } from 'node:crypto';
import type { SeededRandom } from '../../support/run/seeded-random.ts';

const upper = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** Completes digits with the last digit for which `isValid` holds; null if there is none. */
function complete(
  digits: string,
  isValid: (all: string) => boolean,
  last = '0123456789',
): string | null {
  for (const digit of last) if (isValid(digits + digit)) return digits + digit;
  return null;
}

/** Repeats until a value exists. */
function until(make: () => string | null): string {
  for (;;) {
    const value = make();
    if (value !== null) return value;
  }
}

function luhnSum(digits: string): number {
  return [...digits].toReversed().reduce((sum, digit, at) => {
    const value = Number(digit) * (at % 2 === 1 ? 2 : 1);
    return sum + Math.floor(value / 10) + (value % 10);
  }, 0);
}

const isLuhn = (digits: string): boolean => luhnSum(digits) % 10 === 0;

function grouped(digits: string, sizes: readonly number[], separator: string): string {
  let at = 0;
  return sizes
    .map((size) => {
      at += size;
      return digits.slice(at - size, at);
    })
    .join(separator);
}

function card(random: SeededRandom): string {
  const [start, length] = random.pick([
    ['4', 16],
    ['4', 16],
    ['51', 16],
    ['55', 16],
    ['2221', 16],
    ['37', 15],
    ['6011', 16],
    ['3528', 16],
    ['36', 14],
  ] as const);
  const digits = complete(start + random.digits(length - 1 - start.length), isLuhn)!;
  const separator = random.pick(['', ' ', '-']);
  const sizes = length === 16 ? [4, 4, 4, 4] : length === 15 ? [4, 6, 5] : [4, 6, 4];
  return grouped(digits, sizes, separator);
}

function iban(random: SeededRandom): string {
  const [country, bank] = random.pick([
    ['DE', random.digits(18)],
    ['FR', random.digits(23)],
    ['GB', random.text(upper, 4) + random.digits(14)],
    ['NL', random.text(upper, 4) + random.digits(10)],
    ['ES', random.digits(20)],
    ['NO', random.digits(11)],
    ['CH', random.digits(17)],
    ['PL', random.digits(24)],
  ] as const);
  const numeric = [...`${bank}${country}00`].map((c) => Number.parseInt(c, 36)).join('');
  const check = String(98n - (BigInt(numeric) % 97n)).padStart(2, '0');
  const compact = `${country}${check}${bank}`;
  return random.next() < 0.5 ? compact : compact.replace(/(.{4})(?=.)/g, '$1 ');
}

function ssn(random: SeededRandom): string {
  const area = random.integer(1, 665);
  const group = random.integer(1, 99);
  const serial = random.integer(1, 9_999);
  const parts = [
    String(area).padStart(3, '0'),
    String(group).padStart(2, '0'),
    String(serial).padStart(4, '0'),
  ];
  return parts.join(random.pick(['-', '-', ' ']));
}

function phone(random: SeededRandom): string {
  return random.pick([
    () =>
      `+1 ${random.pick(['212', '415', '303', '617'])} ${random.integer(201, 999)} ${random.digits(4)}`,
    () =>
      `+1${random.pick(['212', '415', '303', '617'])}${random.integer(201, 999)}${random.digits(4)}`,
    () => `(${random.pick(['212', '415', '303'])}) ${random.integer(201, 999)}-${random.digits(4)}`,
    () => `${random.pick(['212', '415', '303'])}-${random.integer(201, 999)}-${random.digits(4)}`,
    () => `+44 20 7${random.digits(3)} ${random.digits(4)}`,
    () => `+49 30 ${random.integer(2, 9)}${random.digits(6)}`,
    () => `+33 6 ${[1, 2, 3, 4].map(() => random.digits(2)).join(' ')}`,
    () => `+4915${random.integer(1, 2)}${random.digits(8)}`,
  ])();
}

const names = [
  'jane',
  'omar',
  'li.wei',
  'a.kovacs',
  'maria_silva',
  'o.brien',
  'x',
  'sven.olsen+news',
];
const hosts = [
  'mail.example.org',
  'acme.com',
  'uni-koeln.de',
  'correo.es',
  'team.co.uk',
  'firma.io',
];

function email(random: SeededRandom): string {
  return `${random.pick(names)}${random.pick(['', random.digits(2)])}@${random.pick(hosts)}`;
}

function ipAddress(random: SeededRandom): string {
  if (random.next() < 0.3) {
    const words = Array.from({ length: 7 }, () => random.integer(1, 65_535).toString(16));
    return random.next() < 0.5
      ? `2a02:${words.join(':')}`
      : `2600:${words.slice(0, 3).join(':')}::${words[4]}`;
  }
  const rest = [1, 2, 3].map(() => random.integer(1, 254));
  return `${random.pick([8, 23, 51, 84, 93, 145, 185, 212])}.${rest.join('.')}`;
}

function weighted(digits: string, weights: readonly number[]): number {
  return weights.reduce((sum, weight, at) => sum + weight * Number(digits[at]), 0);
}

function nhs(random: SeededRandom): string {
  const digits = until(() =>
    complete(random.digits(9), (all) => weighted(all, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]) % 11 === 0),
  );
  return random.next() < 0.5 ? digits : grouped(digits, [3, 3, 4], ' ');
}

function germanTaxId(random: SeededRandom): string {
  const order = [...'0123456789'].toSorted(() => random.next() - 0.5);
  const body = [...order.slice(0, 9), order[0]].toSorted(() => random.next() - 0.5).join('');
  if (body.startsWith('0')) return germanTaxId(random);
  let product = 10;
  for (const digit of body) {
    const sum = (Number(digit) + product) % 10 || 10;
    product = (sum * 2) % 11;
  }
  const check = 11 - product === 10 ? 0 : 11 - product;
  return grouped(`${body}${check}`, [2, 3, 3, 3], random.pick(['', ' ']));
}

function cpf(random: SeededRandom): string {
  let digits = random.digits(9);
  for (const length of [9, 10]) {
    const sum = [...digits].reduce(
      (total, digit, at) => total + Number(digit) * (length + 1 - at),
      0,
    );
    digits += sum % 11 < 2 ? 0 : 11 - (sum % 11);
  }
  return digits.replace(/(\d{3})(\d{3})(\d{3})(\d{2})/, '$1.$2.$3-$4');
}

function dni(random: SeededRandom): string {
  const number = random.digits(8);
  return `${number}${'TRWAGMYFPDXBNJZSQVHLCKE'[Number(number) % 23]}`;
}

const evenCodes = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const oddCodes: Readonly<Record<string, number>> = Object.fromEntries(
  [1, 0, 5, 7, 9, 13, 15, 17, 19, 21]
    .flatMap((value, at) => [
      [String(at), value],
      [upper[at]!, value],
    ])
    .concat(
      [2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23].map((value, at) => [
        upper[at + 10]!,
        value,
      ]),
    ),
);

function codiceFiscale(random: SeededRandom): string {
  const consonants = 'BCDFGLMNPRSTVZ';
  const year = random.integer(10, 99);
  const day = String(random.integer(1, 28)).padStart(2, '0');
  const body = `${random.text(consonants, 6)}${year}${random.pick([...'ABCDEHLMPRST'])}${day}${random.pick([...'ADFHL'])}${random.digits(3)}`;
  const sum = [...body].reduce((total, character, at) => {
    const even = evenCodes.indexOf(character);
    return total + (at % 2 === 0 ? oddCodes[character]! : even > 9 ? even - 10 : even);
  }, 0);
  return `${body}${upper[sum % 26]}`;
}

/** Verhoeff's tables as he published them. */
const product = [
  '0123456789',
  '1234067895',
  '2340178956',
  '3401289567',
  '4012395678',
  '5987604321',
  '6598710432',
  '7659821043',
  '8765932104',
  '9876543210',
];
const permutation = [
  '0123456789',
  '1576283094',
  '5803796142',
  '8916043527',
  '9453126870',
  '4286573901',
  '2793806415',
  '7046913258',
];

function isVerhoeff(digits: string): boolean {
  let check = 0;
  [...digits].toReversed().forEach((digit, place) => {
    check = Number(product[check]![Number(permutation[place % 8]![Number(digit)])]);
  });
  return check === 0;
}

function aadhaar(random: SeededRandom): string {
  const digits = complete(`${random.integer(2, 9)}${random.digits(10)}`, isVerhoeff)!;
  return grouped(digits, [4, 4, 4], random.pick([' ', '']));
}

function nir(random: SeededRandom): string {
  const month = String(random.integer(1, 12)).padStart(2, '0');
  const body = `${random.pick(['1', '2'])}${random.digits(2)}${month}${random.integer(10, 95)}${random.digits(6)}`;
  const key = String(97n - (BigInt(body) % 97n)).padStart(2, '0');
  return grouped(`${body}${key}`, [1, 2, 2, 2, 3, 3, 2], ' ');
}

function ahv(random: SeededRandom): string {
  const digits = complete(`756${random.digits(9)}`, (all) => {
    return (
      [...all].reduce((sum, digit, at) => sum + Number(digit) * (at % 2 === 0 ? 1 : 3), 0) % 10 ===
      0
    );
  })!;
  return grouped(digits, [3, 4, 4, 2], '.');
}

function pesel(random: SeededRandom): string {
  const born = `${random.integer(40, 99)}${String(random.integer(1, 12)).padStart(2, '0')}${String(random.integer(1, 28)).padStart(2, '0')}`;
  return complete(
    `${born}${random.digits(4)}`,
    (all) => weighted(all, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0,
  )!;
}

function bsn(random: SeededRandom): string {
  return until(() =>
    complete(
      `${random.integer(1, 9)}${random.digits(7)}`,
      (all) => weighted(all, [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0,
    ),
  );
}

function routing(random: SeededRandom): string {
  const start = random.pick(['01', '02', '06', '11', '12', '26', '31']);
  return complete(
    start + random.digits(6),
    (all) => weighted(all, [3, 7, 1, 3, 7, 1, 3, 7, 1]) % 10 === 0,
  )!;
}

const vinRanks = {
  ...Object.fromEntries([...'ABCDEFGH'].map((c, at) => [c, at + 1])),
  ...Object.fromEntries([...'JKLMN'].map((c, at) => [c, at + 1])),
  P: 7,
  R: 9,
  ...Object.fromEntries([...'STUVWXYZ'].map((c, at) => [c, at + 2])),
} as Readonly<Record<string, number>>;

function vin(random: SeededRandom): string {
  const alphabet = 'ABCDEFGHJKLMNPRSTUVWXYZ0123456789';
  const body = [...`1${random.text(alphabet, 7)}0${random.text(alphabet, 4)}${random.digits(4)}`];
  const weights = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
  const sum = body.reduce(
    (total, character, at) => total + (vinRanks[character] ?? Number(character)) * weights[at]!,
    0,
  );
  body[8] = '0123456789X'[sum % 11]!;
  return body.join('');
}

const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

function bitcoin(random: SeededRandom): string {
  const hash = createHash('sha256').update(random.digits(20)).digest().subarray(0, 20);
  const payload = Buffer.concat([Buffer.from([random.pick([0, 5])]), hash]);
  const sha = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest();
  const all = Buffer.concat([payload, sha(sha(payload)).subarray(0, 4)]);
  let value = BigInt(`0x${all.toString('hex')}`);
  let text = '';
  for (; value > 0n; value /= 58n) text = base58[Number(value % 58n)]! + text;
  return all[0] === 0 ? `1${text}` : text;
}

/** Makes one value of a category. */
export const piiValues: Readonly<Record<string, (random: SeededRandom) => string>> = {
  EMAIL_ADDRESS: email,
  PHONE_NUMBER: phone,
  CREDIT_CARD: card,
  IBAN: iban,
  SSN: ssn,
  IP_ADDRESS: ipAddress,
  CA_SIN: (random) =>
    grouped(
      complete(`${random.integer(1, 7)}${random.digits(7)}`, isLuhn)!,
      [3, 3, 3],
      random.pick(['-', ' ']),
    ),
  UK_NHS: nhs,
  DE_TAX_ID: germanTaxId,
  BR_CPF: cpf,
  ES_DNI: dni,
  IT_CODICE_FISCALE: codiceFiscale,
  IN_AADHAAR: aadhaar,
  FR_NIR: nir,
  CH_AHV: ahv,
  PL_PESEL: pesel,
  NL_BSN: bsn,
  US_ABA_ROUTING: routing,
  VIN: vin,
  IMEI: (random) => complete(`35${random.digits(12)}`, isLuhn)!,
  CRYPTO_ADDRESS: bitcoin,
};
