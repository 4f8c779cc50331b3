/** Tests the validation of config documents: what is rejected and where, at any nesting. */
import { RE2JS } from 're2js';
import { describe, expect, it, vi } from 'vitest';
import { configFaults, type TargetLimits } from '../../../../src/model/configs/config-document.ts';

const builtIn: TargetLimits = { rootMax: null, conditionalRootMax: null, nestedMax: null };

function judge(document: Record<string, unknown>, limits = builtIn): string[] {
  return configFaults(document, limits, []).map(({ path }) => path.join('.'));
}

function nested(depth: number): Record<string, unknown> {
  let document: Record<string, unknown> = { provider: 'p' };
  for (let level = 0; level < depth; level += 1) document = { targets: [document] };
  return document;
}

/** Avoids a literal with the key `then`, which would look like a promise to linters. */
function when(query: Record<string, unknown>, target: string): Record<string, unknown> {
  return Object.fromEntries([
    ['query', query],
    ['then', target],
  ]);
}

const conditional = {
  strategy: {
    mode: 'conditional',
    conditions: [when({ 'metadata.plan': { $eq: 'pro' } }, 'a')],
    default: 'b',
  },
  targets: [
    { name: 'a', provider: 'p' },
    { name: 'b', virtual_key: 'v' },
  ],
};

describe('a config document', () => {
  it.each([
    {},
    { virtual_key: 'v' },
    {
      retry: { attempts: 3, use_retry_after_header: true },
      cache: { mode: 'simple', max_age: 60 },
    },
    { strategy: { mode: 'fallback', on_status_codes: [429, 246] }, targets: [{}, { weight: 0 }] },
    conditional,
    { extensions: { some_new_key: { deep: [1] } }, override_params: { model: 'm' } },
    { custom_host: 'https://example.com/v1', forward_headers: ['Authorization', 'x-a'] },
    { input_guardrails: ['pg-a', { 'default.contains': { words: ['a'] }, deny: true }] },
    { before_request_hooks: [{ id: 'h', type: 'guardrail', checks: [{ id: 'patronus.phi' }] }] },
  ])('accepts %j', (document) => {
    expect(judge(document)).toEqual([]);
  });

  it.each([
    [{ strategy: { mode: 'random' } }, 'strategy.mode'],
    [
      { strategy: { ...conditional.strategy, default: undefined }, targets: conditional.targets },
      'strategy.default',
    ],
    [
      { strategy: { ...conditional.strategy, default: 'z' }, targets: conditional.targets },
      'strategy.default',
    ],
    [
      {
        strategy: {
          mode: 'conditional',
          default: 'a',
          conditions: [when({ k: { $regex: '(?=a)' } }, 'a')],
        },
        targets: [{ name: 'a' }],
      },
      'strategy.conditions.0.query.k.$regex',
    ],
    [
      {
        strategy: {
          mode: 'conditional',
          default: 'a',
          conditions: [when({ $and: [{ k: { $like: 1 } }] }, 'a')],
        },
        targets: [{ name: 'a' }],
      },
      'strategy.conditions.0.query.$and.0.k.$like',
    ],
    [{ targets: [{ weight: -1 }] }, 'targets.0.weight'],
    [{ targets: ['x'] }, 'targets.0'],
    [{ targets: [{ targets: [{ cache: { mode: 'magic' } }] }] }, 'targets.0.targets.0.cache.mode'],
    [{ retry: { attempts: 6 } }, 'retry.attempts'],
    [{ request_timeout: 0 }, 'request_timeout'],
    [{ custom_host: 'http://127.0.0.1:11434' }, 'custom_host'],
    [{ forward_headers: ['x-gateway-api-key'] }, 'forward_headers.0'],
    [{ forward_headers: ['Metadata-Flavor'] }, 'forward_headers.0'],
    [{ input_guardrails: 'pg-a' }, 'input_guardrails'],
    [{ input_guardrails: [{ regexMatch: { rule: '(' } }] }, 'input_guardrails.0.regexMatch.rule'],
    [{ input_guardrails: [{ contians: { words: ['a'] } }] }, 'input_guardrails.0.contians'],
    [
      { before_request_hooks: [{ checks: [{ id: 'default.contians' }] }] },
      'before_request_hooks.0.checks.0.id',
    ],
    [
      { after_request_hooks: [{ checks: [{ id: 'default.regexMatch', parameters: {} }] }] },
      'after_request_hooks.0.checks.0.parameters.rule',
    ],
  ])('rejects an invalid document: %j', (document, path) => {
    expect(judge(document)).toContain(path);
  });

  it('accepts at most 100 targets at the root, 1000 when conditional', () => {
    const targets = (count: number) =>
      Array.from({ length: count }, (_, at) => ({ name: `t${at}` }));
    const strategy = {
      mode: 'conditional',
      default: 't0',
      conditions: [when({}, 't0')],
    };
    expect(judge({ targets: targets(100) })).toEqual([]);
    expect(judge({ targets: targets(101) })).toEqual(['targets']);
    expect(judge({ strategy, targets: targets(1000) })).toEqual([]);
    expect(judge({ strategy, targets: targets(1001) })).toEqual(['targets']);
    expect(judge({ targets: targets(3) }, { ...builtIn, rootMax: 2 })).toEqual(['targets']);
  });

  it('rejects half a million targets before looking at any of them', () => {
    const targets = Array.from({ length: 500_000 }, () => 0);
    expect(judge({ targets })).toEqual(['targets']);
    expect(judge({ targets: [{ targets }] })).toEqual(['targets.0.targets']);
    expect(judge({ forward_headers: targets })).toEqual(['forward_headers']);
  });

  it('compiles at most the patterns that one document may have, at any position', () => {
    const compile = vi.spyOn(RE2JS, 'compile');
    const rule = (at: number) => ({ regexMatch: { rule: `^${at}${'.{1000}'.repeat(2)}` } });
    const targets = Array.from({ length: 100 }, (_, at) => ({ input_guardrails: [rule(at)] }));
    expect(judge({ targets })).toHaveLength(50);
    expect(compile.mock.calls.length).toBeLessThan(8);
    compile.mockRestore();
  });

  it('accepts at most 50 targets below each target of the root, at any depth', () => {
    expect(judge(nested(51))).toEqual([]);
    expect(judge(nested(52))).toHaveLength(1);
    const wide = (count: number) => ({ targets: Array.from({ length: count }, () => ({})) });
    expect(judge({ targets: [wide(50), wide(50)] })).toEqual([]);
    expect(judge({ targets: [wide(50), wide(51)] })).toEqual(['targets.1.targets']);
  });

  it('rejects a document nested ten thousand deep without exhausting the stack', () => {
    expect(judge(nested(10_000))).toHaveLength(1);
  });
});
