/** Recognises international bank account numbers by country, length and check digits. */
import { mod97 } from './checksums.ts';

/** Length of an IBAN by country, from the register of ISO 13616. */
const lengths: ReadonlyMap<string, number> = new Map(
  (
    'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 ' +
    'EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 ' +
    'KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 ' +
    'PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 ' +
    'UA29 VA22 VG24 XK20 YE30'
  )
    .split(' ')
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);

/** Pattern of an IBAN: compact in either case, or in groups of four in upper case. */
export const ibanForm: string = [...Map.groupBy(lengths.keys(), (country) => lengths.get(country)!)]
  .flatMap(([length, countries]) => {
    const rest = length - 4;
    const either = countries.flatMap((country) => [country, country.toLowerCase()]).join('|');
    const last = rest % 4 === 0 ? '' : `[ -][A-Z\\d]{${rest % 4}}`;
    const groups = `(?:[ -][A-Z\\d]{4}){${Math.floor(rest / 4)}}${last}`;
    return [`(?:${either})\\d{2}[A-Za-z\\d]{${rest}}`, `(?:${countries.join('|')})\\d{2}${groups}`];
  })
  .join('|');

/** The number is compact and in upper case. */
export function isIban(compact: string): boolean {
  return (
    lengths.get(compact.slice(0, 2)) === compact.length &&
    mod97(compact.slice(4) + compact.slice(0, 4)) === 1
  );
}
