/** Measures precision, recall and CPU time of the embedded checks on their corpora. */
import { findInjection } from '../src/guardrails/detectors/injection/find-injection.ts';
import { loadPiiRules, piiSearch } from '../src/guardrails/detectors/pii/find-pii.ts';
import { loadProfanitySearch } from '../src/guardrails/detectors/profanity/find-profanity.ts';
import { loadSecretRules, secretSearch } from '../src/guardrails/detectors/secrets/find-secrets.ts';
import type { SpanSearch } from '../src/guardrails/detectors/span.ts';
import { embeddedPiiCategories } from '../src/model/guardrails/pii-categories.ts';
import { runAtOnce } from '../src/slices.ts';
import { benignPrompts } from '../test/corpora/guardrails/benign.ts';
import { injectionTexts } from '../test/corpora/guardrails/injections.ts';
import {
  type CorpusPart,
  type LabelledText,
  measure,
} from '../test/corpora/guardrails/labelled-text.ts';
import { gibberishTexts, textsInLanguages } from '../test/corpora/guardrails/languages.ts';
import { piiTexts } from '../test/corpora/guardrails/pii.ts';
import { profanityTexts } from '../test/corpora/guardrails/profanity.ts';
import { secretTexts } from '../test/corpora/guardrails/secrets.ts';
import { InlineJudge } from '../test/unit/guardrails/detectors/inline-judgement.ts';
import type { Member, Row } from './harness.ts';

const parts: readonly CorpusPart[] = ['tuned', 'heldBack'];
const rounds = 40;

export const member: Member = {
  name: 'guardrails',
  run: async (): Promise<Row[]> => {
    const pii = piiSearch(new Set(embeddedPiiCategories), await loadPiiRules());
    const secrets = secretSearch(await loadSecretRules(), [], false);
    const profanity = await loadProfanitySearch();
    await using judge = new InlineJudge();
    return [
      ...spanRows('personal data', pii, piiTexts, [0.99, 0.97], true),
      ...spanRows('secrets', secrets, secretTexts, [0.98, 0.95], false),
      ...spanRows('profanity', profanity, profanityTexts, [0.95, 0.85], true),
      ...injectionRows(),
      ...(await languageRows(judge)),
      ...(await benignRows(judge)),
      ...(await costRows(judge, secrets)),
    ];
  },
};

function spanRows(
  name: string,
  search: SpanSearch,
  textsOf: (part: CorpusPart) => LabelledText[],
  [precisionMin, recallMin]: readonly [number, number],
  isLabelled: boolean,
): Row[] {
  return parts.flatMap((part) => {
    const quality = measure(textsOf(part), (text) => runAtOnce(search(text)), isLabelled);
    return qualityRows(`${name}, ${part}`, quality, [precisionMin, recallMin]);
  });
}

function qualityRows(
  name: string,
  { precision, recall }: { readonly precision: number; readonly recall: number },
  [precisionMin, recallMin]: readonly [number, number],
): Row[] {
  return [
    {
      metric: `${name}: precision, %`,
      ratio: precision * 100,
      aim: null,
      least: precisionMin * 100,
    },
    { metric: `${name}: recall, %`, ratio: recall * 100, aim: null, least: recallMin * 100 },
  ];
}

function injectionRows(): Row[] {
  return parts.flatMap((part) => {
    const texts = injectionTexts(part);
    const found = texts.filter(({ text }) => runAtOnce(findInjection(text)).length > 0);
    const right = found.filter(({ isAttack }) => isAttack).length;
    const attacks = texts.filter(({ isAttack }) => isAttack).length;
    const quality = { precision: right / found.length, recall: right / attacks };
    return qualityRows(`injection, ${part}`, quality, [0.95, 0]);
  });
}

async function languageRows(judge: InlineJudge): Promise<Row[]> {
  const isDenied = async (item: Record<string, unknown>, text: string): Promise<boolean> =>
    (await judge.judge({ ...item, deny: true }, text)).isDenied;
  const texts = textsInLanguages(60, 10);
  let accepted = 0;
  for (const { code, text } of texts) {
    if (!(await isDenied({ 'portkey.language': { language: code } }, text))) accepted += 1;
  }
  const senseless = gibberishTexts(500);
  let refused = 0;
  for (const text of senseless) if (await isDenied({ 'portkey.gibberish': {} }, text)) refused += 1;
  return [
    {
      metric: 'language: accepted, %',
      ratio: (accepted / texts.length) * 100,
      aim: null,
      least: 97,
    },
    {
      metric: 'gibberish: recall, %',
      ratio: (refused / senseless.length) * 100,
      aim: null,
      least: 98,
    },
  ];
}

const defaultChecks = {
  'gatewright.pii': {},
  'gatewright.secrets': {},
  'gatewright.injection': { failOnDetection: true },
  'gatewright.profanity': {},
  'portkey.gibberish': {},
};

async function benignRows(judge: InlineJudge): Promise<Row[]> {
  let denials = 0;
  const prompts = benignPrompts();
  for (const prompt of prompts) {
    if ((await judge.judge({ ...defaultChecks, deny: true }, prompt)).isDenied) denials += 1;
  }
  return [{ metric: `denials of ${prompts.length} benign prompts`, ratio: denials, aim: 0 }];
}

/** CPU time of the process in milliseconds; its threads are idle meanwhile. */
async function costRows(judge: InlineJudge, secrets: SpanSearch): Promise<Row[]> {
  const traffic = benignPrompts().join('\n');
  const { 'gatewright.profanity': _, 'portkey.gibberish': __, ...three } = defaultChecks;
  const requests = Array.from({ length: rounds }, (_item, at) =>
    traffic.slice(at * 5_000, at * 5_000 + 10_240),
  );
  const larger = requests.map((_item, at) => traffic.slice(at * 4_000, at * 4_000 + 51_200));
  const cost = async (
    texts: readonly string[],
    run: (text: string) => unknown,
  ): Promise<number> => {
    for (const text of texts) await run(text);
    const before = process.cpuUsage();
    for (const text of texts) await run(text);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000 / texts.length;
  };
  return [
    {
      metric: 'personal data, secrets, injection at 10 KB, ms',
      ratio: await cost(requests, (text) => judge.judge({ ...three, deny: true }, text)),
      aim: 1.5,
    },
    {
      metric: 'secrets in 50 KB, ms',
      ratio: await cost(larger, (text) => runAtOnce(secrets(text))),
      aim: 2.5,
    },
  ];
}
