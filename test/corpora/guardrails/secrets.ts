/** Makes the corpus of secrets: examples of every rule in texts of agents, and texts with none. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { RE2JS } from 're2js';
import { parse } from 'smol-toml';
import { SeededRandom } from '../../support/run/seeded-random.ts';
import type { CorpusPart, LabelledText } from './labelled-text.ts';
import { sampleOf } from './pattern-sampler.ts';

interface SourceRule {
  readonly id: string;
  readonly regex?: string;
  readonly entropy?: number;
  readonly secretGroup?: number;
  readonly keywords?: readonly string[];
}

const root = resolve(import.meta.dirname, '../../..');
const toml = readFileSync(resolve(root, 'scripts/secret-rules/gitleaks.toml'), 'utf8');
/** Rules as gitleaks publishes them, except those that the check leaves out by default. */
const sourceRules = (parse(toml) as unknown as { rules: SourceRule[] }).rules.filter(
  ({ id, regex }) =>
    regex !== undefined && !['generic-api-key', 'hashicorp-tf-password'].includes(id),
);

/** Texts around a match `#`. */
const surroundings: Readonly<Record<CorpusPart, readonly string[]>> = {
  tuned: [
    'I get an error with this configuration:\n#\nWhat is wrong?',
    '$ cat .env\n#\n$ npm start',
    '# ',
  ],
  heldBack: [
    'Tool result of read_file (settings.ini):\n1\t[default]\n2\t#\n3\t',
    '```diff\n- old\n+ #\n```\nPlease review the change above.',
    'Please remember this for later. It is #\n\nThanks 😀',
  ],
};

const hex = '0123456789abcdef';
const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
type Maker = (random: SeededRandom) => string;

/** Secrets that the rules of gitleaks do not know. */
const furtherSecrets: Readonly<Record<CorpusPart, readonly (readonly [string, Maker])[]>> = {
  tuned: [
    ['DATABASE_URL=postgres://app:#@db.internal:5432/app', (random) => random.text(letters, 16)],
    ['client = Groq(api_key="#")', (random) => `gsk_${random.text(letters, 52)}`],
    ['OPENROUTER_API_KEY=#', (random) => `sk-or-v1-${random.text(hex, 64)}`],
    ['export OPENAI_API_KEY=#\n', (random) => `sk-proj-${random.text(`${letters}_-`, 120)}a`],
  ],
  heldBack: [
    [
      'mongodb+srv://admin:#@cluster0.abcde.mongodb.net/?retryWrites=true',
      (random) => random.text(letters, 12),
    ],
    ['REPLICATE_API_TOKEN: "#"', (random) => `r8_${random.text(letters, 37)}`],
    ['{"client_secret":"#"}', (random) => `GOCSPX-${random.text(letters, 28)}`],
    [
      '"LANGSMITH_API_KEY": "#"',
      (random) => `lsv2_pt_${random.text(hex, 32)}_${random.text(hex, 10)}`,
    ],
  ],
};

/** Texts that look like secrets and are none. */
const others: Readonly<Record<CorpusPart, readonly Maker[]>> = {
  tuned: [
    (random) => `"integrity": "sha512-${random.text(letters, 86)}=="`,
    (random) => `commit ${random.text(hex, 40)}\nAuthor: the team`,
    (random) => `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${random.text(letters, 43)} laptop`,
    () => 'export OPENAI_API_KEY=sk-... # replace with your key',
    () => 'aws_access_key_id = AKIAIOSFODNN7EXAMPLE',
    () => 'GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
    () => 'postgres://user:password@localhost:5432/db and redis://:${REDIS_PASSWORD}@cache:6379',
    (random) => `request_id=req_${random.text(letters, 24)} trace=${random.text(hex, 32)}`,
    (random) => `-----BEGIN PUBLIC KEY-----\n${random.text(letters, 64)}\n-----END PUBLIC KEY-----`,
    (random) => `<img src="data:image/png;base64,iVBORw0KGgo${random.text(letters, 200)}">`,
  ],
  heldBack: [
    (random) => `digest: sha256:${random.text(hex, 64)}`,
    (random) =>
      `"etag": "W/\\"${random.text(hex, 32)}\\"", "cursor": "${random.text(letters, 44)}"`,
    (random) => `resource "aws_s3_bucket" "logs" { bucket = "acme-logs-${random.text(hex, 8)}" }`,
    () => 'curl -H "Authorization: Bearer $TOKEN" https://api.example.com/v1/items',
    () => 'password: "{{ vault.db_password }}"\ntoken: ${{ secrets.GITHUB_TOKEN }}',
    (random) =>
      `-----BEGIN CERTIFICATE-----\nMIID${random.text(letters, 60)}\n-----END CERTIFICATE-----`,
    (random) =>
      `session ${random.text(hex, 8)}-${random.text(hex, 4)}-4${random.text(hex, 3)}-9${random.text(hex, 3)}-${random.text(hex, 12)} expired`,
    () => 'They say the keyboard key "sk" and the eyebrow are risky, okta is an octave',
    (random) =>
      `call_${random.text(letters, 24)} toolu_${random.text(letters, 24)} msg_${random.text(letters, 24)} chatcmpl-${random.text(letters, 29)}`,
  ],
};

const seeds: Readonly<Record<CorpusPart, number>> = { tuned: 1, heldBack: 104_729 };
const textsOfMaker = 20;

/** Two examples of every rule in each part, further secrets, and texts without secrets. */
export function secretTexts(part: CorpusPart): LabelledText[] {
  const random = new SeededRandom(seeds[part]);
  const texts: LabelledText[] = [];
  for (const rule of sourceRules) {
    for (let count = 0; count < 2; count += 1) {
      const { match, secret } = exampleOf(rule, random);
      const text = random.pick(surroundings[part]).replace('#', () => match);
      texts.push({ text, values: [{ label: rule.id, value: secret }] });
    }
  }
  for (const [sentence, make] of furtherSecrets[part]) {
    for (let count = 0; count < textsOfMaker; count += 1) {
      const value = make(random);
      texts.push({ text: sentence.replace('#', () => value), values: [{ label: 'own', value }] });
    }
  }
  for (const make of others[part]) {
    for (let count = 0; count < textsOfMaker; count += 1) {
      texts.push({ text: make(random), values: [] });
    }
  }
  return texts;
}

/** Makes a match of a rule, with a keyword of it in front where it contains none. An engine with the syntax of gitleaks finds the secret in it. */
function exampleOf(
  { id, regex = '', entropy = 0, secretGroup, keywords = [] }: SourceRule,
  random: SeededRandom,
): { match: string; secret: string } {
  const pattern = RE2JS.compile(regex);
  for (let tries = 0; tries < 20_000; tries += 1) {
    const sample = sampleOf(regex, random);
    const matcher = pattern.matcher(sample);
    if (!matcher.find() || matcher.group() !== sample) continue;
    const groups = Array.from({ length: matcher.groupCount() }, (_, at) => matcher.group(at + 1));
    const isNamed = regex.includes('(?P<');
    const found =
      secretGroup === undefined
        ? groups.find((one) => one !== null && one !== '')
        : groups[secretGroup - 1];
    const secret = isNamed ? sample : (found ?? sample);
    if (entropyOf(secret) > entropy + 0.1 && !isPlaceholder(secret)) {
      const lower = sample.toLowerCase();
      const hasKeyword = keywords.some((keyword) => lower.includes(keyword.toLowerCase()));
      return { match: hasKeyword ? sample : `${keywords[0]}\n${sample}`, secret };
    }
  }
  throw new Error(`rule ${id} has no example`);
}

/** Values that the allowlists of gitleaks name, and those that continue in the next line. */
function isPlaceholder(secret: string): boolean {
  return /EXAMPLE$|true|false|null|""$|''$|[\r\n]/.test(secret);
}

function entropyOf(text: string): number {
  const counts = Object.values(Object.groupBy([...text], (one) => one)).map((all) => all!.length);
  return -counts.reduce(
    (sum, count) => sum + (count / text.length) * Math.log2(count / text.length),
    0,
  );
}
