/** Tests which secrets the check finds and replaces, and with which precision and recall. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ruleIdsModule, secretRules } from '../../../../scripts/secret-rules/secret-rules.ts';
import {
  loadSecretRules,
  secretSearch,
} from '../../../../src/guardrails/detectors/secrets/find-secrets.ts';
import type { SecretRuleData } from '../../../../src/guardrails/detectors/secrets/secret-rule.ts';
import { runAtOnce } from '../../../../src/slices.ts';
import { measure } from '../../../corpora/guardrails/labelled-text.ts';
import { secretTexts } from '../../../corpora/guardrails/secrets.ts';
import { InlineJudge } from './inline-judgement.ts';

const root = resolve(import.meta.dirname, '../../../..');
const read = (path: string): string => readFileSync(resolve(root, path), 'utf8');
const judge = new InlineJudge();
let rules: SecretRuleData;

beforeAll(async () => {
  rules = await loadSecretRules();
});

afterAll(() => judge[Symbol.asyncDispose]());

function foundIn(text: string, isGeneric = false): string[] {
  const spans = runAtOnce(secretSearch(rules, [], isGeneric)(text));
  return spans.map(({ start, end, label }) => `${label} ${text.slice(start, end)}`);
}

/** Values are put together here, so that no file of the project contains one. */
const github = `ghp_${'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'}`;
const aws = `AKIA${'Z3QX7YBRT2WMK4NP'}`;
const privateKey = `-----BEGIN RSA ${'PRIVATE KEY'}-----\n${'MIIEow7Kq\n'.repeat(400)}-----END RSA ${'PRIVATE KEY'}-----`;

describe('the rules', () => {
  it('equals the data generated from the rules of gitleaks', () => {
    const generated = secretRules(
      read('scripts/secret-rules/gitleaks.toml'),
      read('scripts/secret-rules/LICENSE'),
    );
    const stored: unknown = JSON.parse(
      read('src/guardrails/detectors/secrets/gitleaks-rules.json'),
    );
    expect(stored).toEqual(JSON.parse(JSON.stringify(generated)));
    expect(read('src/model/guardrails/secret-rule-ids.ts')).toBe(ruleIdsModule(generated));
  });

  it.each(['tuned', 'heldBack'] as const)(
    'finds secrets with a precision of 0.98 and a recall of 0.95 in %s texts',
    (part) => {
      const search = secretSearch(rules, [], false);
      const quality = measure(secretTexts(part), (text) => runAtOnce(search(text)), false);
      expect(quality.precision, quality.wrong.join('\n')).toBeGreaterThanOrEqual(0.98);
      expect(quality.recall, quality.missed.join('\n')).toBeGreaterThanOrEqual(0.95);
    },
  );

  it('judges texts that are costly for every rule within the time limit of a search', async () => {
    for (const { keywords } of rules.rules) {
      const [word = ''] = keywords;
      const texts = [`${word}-`, `${word}=`, `${word} "`, `${word}a.b-c_d`, `${word}\n\n`].map(
        (unit) => unit.repeat(Math.ceil(20_000 / unit.length)),
      );
      const judged = await judge.judge({ 'gatewright.secrets': { generic: true } }, ...texts);
      expect(judged.results[0]!.checks[0]!.error, word).toBeUndefined();
    }
  });
});

describe('the search for secrets', () => {
  it.each([
    ['at the very end', `token ${github}`, `github-pat ${github}`],
    ['behind emoji', `😀 ${aws} 😀`, `aws-access-token ${aws}`],
    ['of several thousand characters', `key:\n${privateKey}\n`, `private-key ${privateKey}`],
    [
      'with hidden characters',
      `ghp_\u200b${github.slice(4)} `,
      `github-pat ghp_\u200b${github.slice(4)}`,
    ],
    [
      'in full-width letters',
      `ＡＫＩＡ${aws.slice(4)} `,
      `aws-access-token ＡＫＩＡ${aws.slice(4)}`,
    ],
    ['that asks for an exception', `${github} # gitleaks:allow`, `github-pat ${github}`],
    ['in an address', 'mysql://root:Tr0ub4dor9@db:3306/app', 'url-password Tr0ub4dor9'],
  ])('finds one %s, with its exact place', (_, text, found) => {
    expect(foundIn(text)).toEqual([found]);
  });

  it('finds one in base64 as a whole', () => {
    const encoded = Buffer.from(`export TOKEN="${github}"`).toString('base64');
    expect(foundIn(`run echo ${encoded} | base64 -d`)).toEqual([
      `github-pat ${encoded.replace(/=+$/, '')}`,
    ]);
  });

  it('finds one anywhere in a long text, also where pieces meet', () => {
    const filler = 'they asked the key risk task api of okta. ';
    for (const at of [0, 32_740, 32_768, 65_530, 150_000]) {
      const text = filler.repeat(4_000);
      const planted = `${text.slice(0, at)} ${github} ${text.slice(at)}`;
      expect(foundIn(planted)).toEqual([`github-pat ${github}`]);
    }
  });

  it('finds values behind words such as password with the generic rules only', () => {
    const text = 'db_password = "q8Zt41Lm90XwPa"\n';
    expect(foundIn(text)).toEqual([]);
    expect(foundIn(text, true)).toHaveLength(1);
  });
});

describe('the check of secrets', () => {
  it('fails on a secret, names its rule, and keeps it out of the result', async () => {
    const judged = await judge.judge({ 'gatewright.secrets': {}, deny: true }, `use ${github}`);
    expect(judged).toMatchObject({ isDenied: true });
    expect(JSON.stringify(judged.results)).toContain('github-pat');
    expect(JSON.stringify(judged.results)).not.toContain(github);
  });

  it('replaces secrets by rule and number', async () => {
    const item = { 'gatewright.secrets': { redact: true }, deny: true };
    expect(await judge.redact(item, `a ${github} b`, `c "${aws}" d ${github}`)).toEqual([
      'a {{GITHUB_PAT_1}} b',
      'c "{{AWS_ACCESS_TOKEN_1}}" d {{GITHUB_PAT_1}}',
    ]);
  });

  it('leaves out excluded rules', async () => {
    const item = { 'gatewright.secrets': { exclude: ['github-pat'] }, deny: true };
    expect(await judge.judge(item, github)).toMatchObject({ isDenied: false });
    expect(await judge.judge(item, aws)).toMatchObject({ isDenied: true });
  });
});
