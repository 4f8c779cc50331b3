/** Makes the corpus of personal data: sentences with one value, and sentences with numbers that are none. */
import { SeededRandom } from '../../support/run/seeded-random.ts';
import type { CorpusPart, LabelledText } from './labelled-text.ts';
import { piiValues } from './pii-values.ts';

/** Sentences around a value `#`, by category; `*` are those for every category. */
const sentences: Readonly<Record<CorpusPart, Readonly<Record<string, readonly string[]>>>> = {
  tuned: {
    '*': ['{"customer": {"value": "#", "active": true}}', '| 17 | # | open |'],
    EMAIL_ADDRESS: ['Please write to # before Friday.', 'From: Jane <#>', 'cc=# sent'],
    PHONE_NUMBER: ['You can reach him at #.', 'Tel.: #', 'call # after nine'],
    CREDIT_CARD: ['Charge my card # please.', 'The number is #, valid until 09/29.', 'Visa #'],
    IBAN: ['Transfer the rent to #.', 'My IBAN is # (BIC on request).'],
    SSN: ['Her SSN is #.', 'Social security number: #'],
    IP_ADDRESS: ['The request came from # at noon.', 'client #, server: api'],
    CA_SIN: ['My SIN is #.', 'Social insurance number #'],
    UK_NHS: ['NHS number #', 'The patient (#) called.'],
    DE_TAX_ID: ['Meine Steuer-ID lautet #.', 'IdNr: #'],
    BR_CPF: ['O CPF do cliente é #.'],
    ES_DNI: ['Mi DNI es #.', 'NIF: #'],
    IT_CODICE_FISCALE: ['Il codice fiscale è #.'],
    IN_AADHAAR: ['My Aadhaar number is #.'],
    FR_NIR: ['Numéro de sécurité sociale : #'],
    CH_AHV: ['AHV-Nummer #'],
    PL_PESEL: ['PESEL: #'],
    NL_BSN: ['Mijn BSN is #.'],
    US_ABA_ROUTING: ['The routing number is #.'],
    VIN: ['The vehicle has VIN #.'],
    IMEI: ['IMEI: #'],
    CRYPTO_ADDRESS: ['Send the coins to #.'],
  },
  heldBack: {
    '*': ['- value: "#"\n- status: done', '(see #)'],
    EMAIL_ADDRESS: ['who is # and why did they sign?', 'mailto:#?subject=hi', '`#`'],
    PHONE_NUMBER: ['whatsapp me: #', 'her mobile number, #, is off', 'contact:#'],
    CREDIT_CARD: ['use "#" with cvv 123', 'old amex # expired', 'pay #'],
    IBAN: ['Konto #, Betrag 12,50 EUR', 'iban=#'],
    SSN: ['applicant # was rejected', 'ssn=#'],
    IP_ADDRESS: ['banned # for abuse', 'X-Forwarded-For: #', 'http://#/login'],
    CA_SIN: ['employee sin: #', 'his social insurance card says #'],
    UK_NHS: ['patient 12, nhs no. #'],
    DE_TAX_ID: ['Steueridentifikationsnummer #', 'tax id (Germany) #'],
    BR_CPF: ['cpf=#', 'titular: #'],
    ES_DNI: ['documento nacional de identidad #'],
    IT_CODICE_FISCALE: ['CF #, nato a Roma'],
    IN_AADHAAR: ['aadhaar=#', 'UID #'],
    FR_NIR: ['assuré #, Lyon'],
    CH_AHV: ['versichert unter #'],
    PL_PESEL: ['numer pesel #'],
    NL_BSN: ['burgerservicenummer #'],
    US_ABA_ROUTING: ['aba #, account on file'],
    VIN: ['chassis number #'],
    IMEI: ['phone lost, imei #'],
    CRYPTO_ADDRESS: ['btc wallet #'],
  },
};

/** Categories whose values count without words before them. */
const selfEvident: ReadonlySet<string> = new Set([
  'EMAIL_ADDRESS',
  'PHONE_NUMBER',
  'CREDIT_CARD',
  'IBAN',
  'SSN',
  'IP_ADDRESS',
  'BR_CPF',
  'IT_CODICE_FISCALE',
  'FR_NIR',
  'CH_AHV',
  'CRYPTO_ADDRESS',
]);

type Maker = (random: SeededRandom) => string;
const hex = '0123456789abcdef';

/** Sentences with numbers and identifiers that are no personal data. */
const others: Readonly<Record<CorpusPart, readonly Maker[]>> = {
  tuned: [
    (random) => `commit ${random.text(hex, 40)} fixes #${random.digits(4)}`,
    (random) => `Order ${random.digits(10)} was shipped on 2026-11-${random.integer(10, 28)}.`,
    (random) => `at ${random.integer(1_600_000_000, 1_790_000_000)}${random.digits(3)} ms`,
    (random) =>
      `id: ${random.text(hex, 8)}-${random.text(hex, 4)}-4${random.text(hex, 3)}-a${random.text(hex, 3)}-${random.text(hex, 12)}`,
    (random) =>
      `listening on 127.0.0.1:${random.integer(1_024, 65_535)} and 10.${random.integer(0, 255)}.0.${random.integer(1, 9)}`,
    (random) =>
      `upgrade from version ${random.integer(1, 9)}.${random.integer(0, 30)}.${random.integer(0, 9)}.${random.integer(1, 9)}`,
    (random) =>
      `the plate is ${random.text('ABCDEFGHKLM', 3)}-${random.digits(4)}, model gpt-5.4-nano`,
    (random) =>
      `npm i lodash@4.${random.integer(1, 30)}.${random.integer(0, 9)} @types/node@24.${random.integer(0, 9)}.1`,
    (random) => `git clone git@github.com:acme/repo${random.digits(2)}.git`,
    (random) =>
      `offset ${random.digits(7)} size ${random.digits(9)} rows ${random.digits(3)},${random.digits(3)}`,
    (random) => `tracking 1Z${random.text('0123456789ABCDEFGH', 16)}`,
  ],
  heldBack: [
    (random) => `sha256:${random.text(hex, 64)}`,
    (random) =>
      `[${random.digits(2)}, ${random.digits(4)}, ${random.digits(3)}, ${random.digits(4)}]`,
    (random) =>
      `ISBN 978-${random.integer(0, 9)}-${random.digits(5)}-${random.digits(3)}-${random.integer(0, 9)}`,
    (random) => `invoice INV-2026-${random.digits(6)} for ${random.digits(4)}.50 USD`,
    (random) =>
      `ETA 2026-11-24T10:${random.integer(10, 59)}:${random.integer(10, 59)}.${random.digits(6)}Z`,
    (random) => `0x${random.text(hex, 16)}: mov rax, 0x${random.text(hex, 8)}`,
    (random) => `docker run -p 8080:80 registry.local:5000/app@sha256:${random.text(hex, 64)}`,
    (random) => `latitude 52.${random.digits(7)}, longitude 13.${random.digits(7)}`,
    (random) => `trace ${random.text(hex, 32)} span ${random.text(hex, 16)}`,
    (random) =>
      `@@ -${random.digits(3)},${random.integer(1, 9)} +${random.digits(3)},${random.integer(1, 9)} @@`,
    () => `std::vector<int>::iterator a::b dead:beef 12:30:45`,
  ],
};

const seeds: Readonly<Record<CorpusPart, number>> = { tuned: 29, heldBack: 7_919 };
const valuesOfSentence = 12;
const textsOfMaker = 40;

/** Every category in each of its sentences, and the sentences without personal data. */
export function piiTexts(part: CorpusPart): LabelledText[] {
  const random = new SeededRandom(seeds[part]);
  const texts: LabelledText[] = [];
  for (const [label, make] of Object.entries(piiValues)) {
    const general = selfEvident.has(label) ? sentences[part]['*']! : [];
    for (const sentence of [...sentences[part][label]!, ...general]) {
      for (let count = 0; count < valuesOfSentence; count += 1) {
        const value = make(random);
        texts.push({ text: sentence.replace('#', () => value), values: [{ label, value }] });
      }
    }
  }
  for (const make of others[part]) {
    for (let count = 0; count < textsOfMaker; count += 1) {
      texts.push({ text: make(random), values: [] });
    }
  }
  return texts;
}
