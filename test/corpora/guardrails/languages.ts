/** Makes the corpus of languages and of gibberish. */
import { declarationIn } from '../../../scripts/letter-pairs/letter-pairs.ts';
import { letterCount } from '../../../src/guardrails/detectors/language/prose.ts';
import { SeededRandom } from '../../support/run/seeded-random.ts';

interface TextInLanguage {
  readonly code: string;
  readonly text: string;
}

/** Translations of the declaration of human rights by code of the check. */
const translations: Readonly<Record<string, string>> = {
  ara_Arab: 'arb',
  ben_Beng: 'ben',
  bul_Cyrl: 'bul',
  ces_Latn: 'ces',
  dan_Latn: 'dan',
  deu_Latn: 'deu_1996',
  ell_Grek: 'ell_monotonic',
  eng_Latn: 'eng',
  est_Latn: 'est',
  fin_Latn: 'fin',
  fra_Latn: 'fra',
  heb_Hebr: 'heb',
  hin_Deva: 'hin',
  hun_Latn: 'hun',
  ind_Latn: 'ind',
  ita_Latn: 'ita',
  kan_Knda: 'kan',
  kor_Hang: 'kor',
  lit_Latn: 'lit',
  nld_Latn: 'nld',
  pol_Latn: 'pol',
  por_Latn: 'por_BR',
  ron_Latn: 'ron_2006',
  rus_Cyrl: 'rus',
  spa_Latn: 'spa',
  swe_Latn: 'swe',
  tam_Taml: 'tam',
  tel_Telu: 'tel',
  tur_Latn: 'tur',
  ukr_Cyrl: 'ukr',
  urd_Arab: 'urd',
  vie_Latn: 'vie',
};

/** Passages of about `letters` letters in every language, at most `most` of each. */
export function textsInLanguages(letters: number, most: number): TextInLanguage[] {
  return Object.entries(translations).flatMap(([code, translation]) => {
    const texts: TextInLanguage[] = [];
    let text = '';
    for (const word of declarationIn(translation).split(/(?<=\s)/)) {
      text += word;
      if (letterCount(text) < letters) continue;
      texts.push({ code, text });
      text = '';
    }
    return texts.slice(0, most);
  });
}

const rows = ['asdfghjkl', 'qwertyuiop', 'zxcvbnm', 'qwertzuiop', 'yxcvbnm'];

/** Random letters, and keys of a keyboard that lie side by side. */
export function gibberishTexts(count: number): string[] {
  const random = new SeededRandom(17);
  const alphabet = 'abcdefghijklmnopqrstuvwxyz';
  return Array.from({ length: count }, (_, at) => {
    const words = Array.from({ length: random.integer(6, 20) }, () =>
      random.text(at % 2 === 0 ? alphabet : random.pick(rows), random.integer(4, 9)),
    );
    return words.join(' ');
  });
}
