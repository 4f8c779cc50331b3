/**
 * Tests the catalogue of guardrail checks: what is validated, what is left open, and for which
 * target.
 */
import { describe, expect, it } from 'vitest';
import { checkFaults } from '../../../src/model/guardrails/guardrail-checks.ts';
import { PatternChecker } from '../../../src/model/patterns/pattern-checker.ts';

function judge(
  id: string,
  parameters?: Record<string, unknown>,
  target: 'llm' | 'mcp_tools' = 'llm',
) {
  return checkFaults([{ id, parameters }], target, {
    trusted: [],
    patterns: new PatternChecker(),
  }).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

describe('checks for LLM requests', () => {
  it.each([
    ['default.regexMatch', { rule: '^(a+)+$', not: true }],
    ['default.regexReplace', { rule: '/\\d+/gi', redactText: 'x' }],
    ['default.wordCount', { minWords: 1, maxWords: 100 }],
    ['default.contains', { words: ['a'], operator: 'none' }],
    ['default.jsonSchema', { schema: { type: 'object' } }],
    ['default.jsonSchema', { schema: { properties: { pattern: { const: { pattern: '(' } } } } }],
    ['default.jsonSchema', { schema: '{"pattern": "^a{1,3}$"}' }],
    [
      'default.requiredMetadataKeyValuePairs',
      { metadataPairs: { team: '(', count: 1 }, matchType: 'contains' },
    ],
    [
      'default.requiredMetadataKeyValuePairs',
      { metadataPairs: { team: ['^a$', '^b$'] }, matchType: 'regex' },
    ],
    ['default.webhook', { webhookURL: 'https://example.com', forwardHeaders: ['traceparent'] }],
    ['default.isAllLowerCase', {}],
    ['default.alllowercase', { not: true }],
    ['default.modelWhitelist', { models: ['m'] }],
    ['default.modelwhitelist', { models: ['m'] }],
    ['default.jwt', { jwksUri: 'https://a.example/1, https://a.example/2', headerKey: 'x' }],
    ['portkey.pii', { categories: ['EMAIL_ADDRESS', 'SSN'], redact: true }],
    ['gatewright.pii', { not: true }],
    ['portkey.language', { language: ['eng_Latn', 'deu_Latn'], not: true }],
    ['gatewright.secrets', { exclude: ['jwt'], generic: true, redact: true }],
    ['patronus.phi', undefined],
    ['default.regexMatch', undefined],
  ])('accepts %s with parameters like %j', (id, parameters) => {
    expect(judge(id, parameters)).toEqual([]);
  });

  it.each([
    ['default.regexMatch', {}, '0.parameters.rule'],
    ['default.REGEXMATCH', { rule: 1 }, '0.parameters.rule'],
    ['default.wordCount', { minWords: -1 }, '0.parameters.minWords'],
    [
      'default.requiredMetadataKeyValuePairs',
      { metadataPairs: { team: '(?=x)' }, matchType: 'regex' },
      '0.parameters.metadataPairs.team',
    ],
    [
      'default.requiredMetadataKeyValuePairs',
      { metadataPairs: { team: ['a', '.{1000}{9}'] }, matchType: 'regex' },
      '0.parameters.metadataPairs.team',
    ],
    [
      'default.requiredMetadataKeyValuePairs',
      { metadataPairs: { team: 1 }, matchType: 'regex' },
      '0.parameters.metadataPairs.team',
    ],
    [
      'default.jsonSchema',
      { schema: { properties: { a: { items: [{ pattern: '(a' }] } } } },
      '0.parameters.schema.properties.a.items.0.pattern',
    ],
    [
      'default.jsonSchema',
      { schema: { anyOf: [{ patternProperties: { '\\1': {} } }] } },
      '0.parameters.schema.anyOf.0.patternProperties.\\1',
    ],
    ['default.jsonSchema', { schema: '{"not": {"pattern": "(?<!a)b"}}' }, '0.parameters.schema'],
    ['default.jsonSchema', { schema: '{"type": ' }, '0.parameters.schema'],
    [
      'default.jsonSchema',
      { schema: `${'{"not":'.repeat(900)}{}${'}'.repeat(900)}` },
      '0.parameters.schema',
    ],
    ['default.jsonSchema', { schema: `[${'0,'.repeat(20_000)}0]` }, '0.parameters.schema'],
    ['default.contains', { words: [] }, '0.parameters.words'],
    ['default.contains', { words: ['a'], operator: 'some' }, '0.parameters.operator'],
    ['default.webhook', { webhookURL: 'http://169.254.169.254/' }, '0.parameters.webhookURL'],
    [
      'default.webhook',
      { webhookURL: 'https://a.example', forwardHeaders: ['x-a', 'Cookie'] },
      '0.parameters.forwardHeaders.1',
    ],
    [
      'default.webhook',
      { webhookURL: 'https://a.example', headers: { 'x-a': 'b\r\nc: d' } },
      '0.parameters.headers.x-a',
    ],
    ['default.log', { logURL: 'http://localhost/' }, '0.parameters.logURL'],
    ['default.jwt', { headerKey: 'Authorization' }, '0.parameters.jwksUri'],
    [
      'default.jwt',
      { jwksUri: 'https://a.example,http://10.0.0.1', headerKey: 'x' },
      '0.parameters.jwksUri',
    ],
    [
      'default.jwt',
      { introspectEndpoint: 'http://10.0.0.1/introspect', headerKey: 'x' },
      '0.parameters.introspectEndpoint',
    ],
    ['default.jwt', { introspectEndpoint: 'https://a.example', headerKey: 'x' }, undefined],
    [
      'default.jwt',
      { jwksUri: 'https://a.example', headerKey: 'x', algorithms: ['HS256'] },
      '0.parameters.algorithms.0',
    ],
    [
      'default.jwt',
      { jwksUri: 'https://a.example', headerKey: 'x', algorithms: ['none'] },
      '0.parameters.algorithms.0',
    ],
    [
      'default.jwt',
      { jwksUri: 'https://a.example', headerKey: 'x', maxTokenAge: 'soon' },
      '0.parameters.maxTokenAge',
    ],
    ['default.modelwhitelist', { models: 'm' }, '0.parameters.models'],
    ['portkey.pii', {}, '0.parameters.categories'],
    ['portkey.pii', { categories: ['SSN', 'NAME'] }, '0.parameters.categories.1'],
    ['portkey.pii', { categories: ['NAME'], model: true }, undefined],
    ['portkey.pii', { categories: ['NAME'], model: false }, '0.parameters.categories.0'],
    ['gatewright.pii', { categories: ['LOCATION_ADDRESS'] }, '0.parameters.categories.0'],
    ['gatewright.pii', { categories: ['PASSPORT'] }, '0.parameters.categories.0'],
    ['gatewright.pii', { redact: true, not: true }, '0.parameters.not'],
    ['gatewright.profanity', { redact: true, not: true }, '0.parameters.not'],
    ['gatewright.injection', { failOnDetection: 'yes' }, '0.parameters.failOnDetection'],
    ['portkey.language', { language: 'english' }, '0.parameters.language'],
    ['portkey.language', { language: ['eng_Latn', 'arb_Latn'] }, '0.parameters.language.1'],
    ['gatewright.secrets', { exclude: ['jwt', 'github-pats'] }, '0.parameters.exclude.1'],
  ])('rejects kind %s with %j at %s', (id, parameters, path) => {
    const faults = judge(id, parameters);
    expect(faults.map((fault) => fault.split(':')[0])).toEqual(path === undefined ? [] : [path]);
  });
});

describe('an unknown check', () => {
  it.each([
    ['default.contians', 'did you mean "default.contains"?'],
    ['modelWhitelist', 'did you mean "default.modelWhitelist"?'],
    ['patronus.toxicitty', 'did you mean "patronus.toxicity"?'],
    ['portkey.pi', 'did you mean "portkey.pii"?'],
    ['my.own.check', 'see the list in docs/reference/resources.md, Checks'],
    ['constructor', 'see the list in docs/reference/resources.md, Checks'],
  ])('is a fault with the check that is meant: %s', (id, hint) => {
    for (const target of ['llm', 'mcp_tools'] as const) {
      expect(judge(id, { anything: 1 }, target)).toEqual([`0.id: is not a known check: ${hint}`]);
    }
  });
});

describe('checks for MCP tools', () => {
  it.each([
    'default.regexMatch',
    'default.contains',
    'default.jwt',
    'default.wordCount',
    'portkey.pii',
    'gatewright.pii',
    'gatewright.secrets',
    'gatewright.profanity',
    'gatewright.injection',
    'portkey.language',
    'PORTKEY.gibberish',
  ])('accepts %s', (id) => expect(judge(id, undefined, 'mcp_tools')).toEqual([]));

  it.each(['PORTKEY.moderateContent', 'patronus.toxicity', 'default.modelWhitelist'])(
    'rejects %s, which is not deterministic or has no meaning there',
    (id) => expect(judge(id, undefined, 'mcp_tools')).toHaveLength(1),
  );
});

describe('a pattern', () => {
  it.each(['^a$', '(?i)ab', '(?<year>\\d{4})', '\\u0041', '[^x]*', ''])(
    'is usable: %s',
    (pattern) => {
      expect(new PatternChecker().regexFault(pattern)).toBeNull();
    },
  );

  it.each([
    ['(?=a)b', 'look-around is not supported'],
    ['(?<!a)b', 'look-around is not supported'],
    ['(a)\\1', 'backreferences are not supported'],
    ['(?<n>a)\\k<n>', 'backreferences are not supported'],
    ['(', 'missing closing )'],
    ['a{2000}', 'invalid repeat count'],
    ['x'.repeat(1025), 'at most 1024 characters'],
  ])('is rejected with its reason: %s', (pattern, reason) => {
    expect(new PatternChecker().regexFault(pattern)).toContain(reason);
  });
});
