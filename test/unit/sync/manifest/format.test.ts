/**
 * Checks that `fmt` normalises manifests, keeps their meaning and every comment, and rejects what
 * it cannot preserve.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { dump } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { formatFile } from '../../../../src/sync/authoring/format.ts';
import { readTexts, resourcesOf } from '../../../support/sync/manifests.ts';

function format(text: string): string {
  const { text: formatted, refusal } = formatFile({ path: 'a.yaml', content: Buffer.from(text) });
  if (formatted === undefined) throw new Error(String(refusal));
  return formatted;
}

function refusalOf(text: string | Buffer): string | null | undefined {
  return formatFile({ path: 'a.yaml', content: Buffer.from(text) }).refusal;
}

const head = 'apiVersion: gatewright.dev/v1\nkind: ApiKey\nmetadata:\n  name: bot\n';

describe('the normal form', () => {
  it('has the envelope in order, keys in camelCase, two spaces, and comments at their places', () => {
    const text = `# yaml-language-server: $schema=x

# about the spec
spec:
    usage_limits: {credit_limit: 10,   alert_threshold: 5} # why
    rate_limits:
    - {type: requests, unit: rpm,
       value: 5}

    # scopes come last
    scopes: [ completions.write ]
kind: ApiKey   # kind
metadata:
  workspace: support
  name: bot
apiVersion: gatewright.dev/v1
`;
    expect(format(text)).toBe(`# yaml-language-server: $schema=x

apiVersion: gatewright.dev/v1
kind: ApiKey # kind
metadata:
  name: bot
  workspace: support
# about the spec
spec:
  usageLimits: {creditLimit: 10, alertThreshold: 5} # why
  rateLimits:
    - type: requests
      unit: rpm
      value: 5

  # scopes come last
  scopes: [completions.write]
`);
  });

  it('leaves verbatim keys unchanged, and fields that occur in both spellings', () => {
    const spec = `spec:
  defaults:
    metadata:
      team_name: a
    config_ref: routing
`;
    expect(format(head + spec)).toBe(head + spec.replace('config_ref', 'configRef'));
    const both = `${head}spec:\n  usage_limits: null\n  usageLimits: null\n`;
    expect(format(both)).toBe(both);
    const config = `${head.replace('ApiKey', 'Config')}spec:\n  config:\n    input_guardrails: [{guardrail_ref: x}]\n`;
    expect(format(config)).toBe(config);
  });

  it.each([
    ['folded text', 'spec:\n  description: >-\n    one line\n    and another\n\n    and a third\n'],
    ['literal text', 'spec:\n  description: |\n    one line\n      and another\n'],
    ['quotes', `spec:\n  description: 'it''s'\n  name: "x"\n`],
    ['long text', `spec:\n  description: ${'word '.repeat(60).trim()}\n`],
    ['empty values', 'spec:\n  description:\n  alertEmails: []\n  defaults: {}\n'],
    ['several documents', `spec: {}\n---\n# second\n${head}---\n${head}`],
  ])('keeps %s', (_, text) => {
    expect(format(head + text)).toBe(head + text);
  });

  it('keeps the line ends of Windows', () => {
    const text = `${head}spec:\n  scopes: [logs.view]\n`.replaceAll('\n', '\r\n');
    expect(format(text)).toBe(text);
  });

  it('applies to lists of manifests, too', () => {
    const list = 'kind: List\napiVersion: v1\nitems:\n- spec: {rate_limits: []}\n  kind: ApiKey\n';
    expect(format(list)).toBe(
      'apiVersion: v1\nkind: List\nitems:\n  - kind: ApiKey\n    spec: {rateLimits: []}\n',
    );
  });

  it('keeps the names of entries in a patch, and writes `patch` after the kind', () => {
    const patch = `kind: Guardrail\npatch: true\napiVersion: gatewright.dev/v1\nspec:\n    checks: {my_check: null}\n`;
    expect(format(patch)).toBe(
      'apiVersion: gatewright.dev/v1\nkind: Guardrail\npatch: true\nspec:\n  checks: {my_check: null}\n',
    );
  });

  it('matches the examples', () => {
    const folder = resolve(import.meta.dirname, '../../../../examples');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.yaml'),
    );
    expect(files.length).toBeGreaterThan(3);
    const others = files.filter((name) => {
      const text = readFileSync(join(folder, name), 'utf8');
      return refusalOf(text) !== null && format(text) !== text;
    });
    expect(others).toEqual([]);
  });
});

describe('a file that is left unchanged', () => {
  it.each([
    ['text that is not YAML', 'a: [', /^1:/],
    ['anchors', `${head}spec: &a {}\n`, /anchors/],
    ['bytes that are not text', Buffer.from([0xff, 0xfe]), /UTF-8/],
  ])('rejects %s, with the position', (_, text, refusal) => {
    expect(refusalOf(text)).toMatch(refusal);
  });

  it.each([
    ['a document of another program', 'apiVersion: v1\nkind: Service\n'],
    [
      'a file with such a document next to manifests',
      `${head}---\napiVersion: apps/v1\nkind: Deployment\n`,
    ],
    ['an empty file', ''],
    ['a file of comments', '# nothing\n'],
  ])('skips %s silently', (_, text) => {
    expect(refusalOf(text)).toBeNull();
  });
});

const scalar = fc.oneof(
  fc.constantFrom(
    'yes',
    'no',
    '012',
    '1e3',
    'null',
    '~',
    '',
    ' x',
    '- a',
    'a: b',
    '# c',
    "it's",
    '"',
    '\\',
    '${A}',
  ),
  fc
    .string({ maxLength: 30 })
    .filter((text) => !/[\0-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]/.test(text)),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
);
const key = fc.constantFrom(
  'usage_limits',
  'usageLimits',
  'rate_limits',
  'defaults',
  'metadata',
  'a_b',
  'config_ref',
  'scopes',
  'x',
);
const value = fc.letrec((tie) => ({
  any: fc.oneof({ depthSize: 'small' }, scalar, tie('list'), tie('map')),
  list: fc.array(tie('any'), { maxLength: 3 }),
  map: fc.dictionary(key, tie('any'), { maxKeys: 4 }),
})).map;

const document = fc.record({
  kind: fc.constantFrom('ApiKey', 'Config', 'Guardrail', 'McpIntegration', 'UsageLimitPolicy'),
  apiVersion: fc.constant('gatewright.dev/v1'),
  spec: value,
  metadata: fc.record({ workspace: fc.constant('w'), name: fc.constant('n') }),
});

describe('any file', () => {
  it('is either rejected or keeps its meaning and comments, and is stable when formatted again', () => {
    let formatted = 0;
    fc.assert(
      fc.property(
        fc.array(document, { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom(-1, 0, 1, 3),
        fc.array(fc.nat(60), { maxLength: 4 }),
        (documents, indent, flowLevel, commentLines) => {
          const text = documents
            .map((one) => dump(one, { indent, flowLevel, noRefs: true }))
            .join('---\n');
          const lines = text.split('\n');
          // A comment above a multi-line string would become part of it.
          const isPlain = !/[>|][-+]?\d?$/m.test(text);
          for (const at of isPlain ? commentLines : []) {
            const line = lines[at];
            if (line !== undefined && /^\s*[\w-]+:/.test(line)) {
              lines.splice(at, 0, `${/^\s*/.exec(line)![0]}# note ${at}`);
            }
          }
          const original = lines.join('\n');
          const refusal = refusalOf(original);
          if (refusal != null) return;
          formatted += 1;
          const once = format(original);
          expect(format(once)).toBe(once);
          expect(once.match(/# note \d+/g)?.toSorted()).toEqual(
            original.match(/# note \d+/g)?.toSorted(),
          );
        },
      ),
      { numRuns: 100 },
    );
    expect(formatted).toBeGreaterThan(50);
  });

  it('formats or is rejected, however it is damaged', () => {
    const whole = `# a\n\n# b\n${head}spec: # c\n  usage_limits: {credit_limit: 1, # d\n    type: "cost"}\n  description: >-\n    x\n    y\n  scopes:\n  - logs.view\n  # e\n  rate_limits: []\n---\n${head}`;
    const damage = fc.record({
      at: fc.nat(whole.length),
      cut: fc.nat(6),
      put: fc.constantFrom(
        '',
        '\n',
        '  ',
        ': ',
        '- ',
        '#',
        '"',
        "'",
        '{',
        ']',
        '|\n',
        '>2\n',
        '&a ',
        '!!str ',
        '---\n',
        '...\n',
        '%',
        '? ',
        '\t',
        '\r',
        '\\',
      ),
    });
    fc.assert(
      fc.property(fc.array(damage, { minLength: 1, maxLength: 4 }), (damages) => {
        let text = whole;
        for (const { at, cut, put } of damages)
          text = text.slice(0, at) + put + text.slice(at + cut);
        const content = Buffer.from(text);
        const once = formatFile({ path: 'a.yaml', content }).text;
        if (once !== undefined) expect(format(once)).toBe(once);
      }),
      { numRuns: 500 },
    );
  });

  it('yields the same resources', async () => {
    const text = `kind: ApiKey\nspec:\n    usage_limits: {credit_limit: 10}\n    scopes:\n    - logs.view\nmetadata: {name: n}\napiVersion: gatewright.dev/v1\n`;
    const [before] = resourcesOf(await readTexts({ 'a.yaml': text }));
    const [after] = resourcesOf(await readTexts({ 'a.yaml': format(text) }));
    expect(after?.spec).toEqual(before?.spec);
  });
});
