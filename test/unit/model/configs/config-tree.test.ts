/** Tests what a config target inherits, and how conditions, shares and parameters are evaluated. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesQuery } from '../../../../src/model/configs/conditions.ts';
import {
  buildConfigTree,
  type ConfigBranch,
  type ConfigLeaf,
  defaultTargetSettings,
} from '../../../../src/model/configs/config-tree.ts';
import { paramChanges } from '../../../../src/model/configs/params.ts';
import {
  conditionalTarget,
  stickyChance,
  weightedTarget,
} from '../../../../src/model/configs/routing.ts';
import { locateMembers, withMembers } from '../../../../src/model/json/json-object.ts';

function leafAt(document: Record<string, unknown>, ...path: number[]): ConfigLeaf {
  let node = buildConfigTree(document);
  for (const at of path) node = (node as ConfigBranch).targets[at]!;
  return node as ConfigLeaf;
}

describe('a target', () => {
  it('inherits the parameters of each level, its own first, and the nearest value of everything else', () => {
    const document = {
      strategy: { mode: 'fallback' },
      override_params: { a: 1, b: 1 },
      retry: { attempts: 3, on_status_codes: [500] },
      request_timeout: 100,
      forward_headers: ['x-a'],
      unsupported: 'drop',
      targets: [
        { provider: 'openai', override_params: { b: 2 }, retry: { attempts: 1 } },
        { provider: 'groq', request_timeout: 5, unsupported: 'refuse' },
      ],
    };
    const [first, second] = [leafAt(document, 0), leafAt(document, 1)];
    expect(first.settings.overrideParams).toEqual({ a: 1, b: 2 });
    expect(first.settings.retry).toMatchObject({ attempts: 1, usesRetryAfter: false });
    expect(first.settings.retry!.statusCodes.has(529)).toBe(true);
    expect(first.settings.requestTimeoutMs).toBe(100);
    expect(second.settings.retry).toMatchObject({ attempts: 3 });
    expect(second.settings.requestTimeoutMs).toBe(5);
    expect([first, second].map(({ settings }) => settings.unsupported)).toEqual(['drop', 'refuse']);
    expect([first.path, second.path]).toEqual(['config.targets[0]', 'config.targets[1]']);
  });

  it('drops the credential of the outer level when a target names another provider', () => {
    const document = {
      strategy: { mode: 'single' },
      provider: 'openai',
      api_key: 'secret-of-openai',
      openai_organization: 'o',
      targets: [{ provider: 'groq' }, {}, { passthrough: true }],
    };
    expect(leafAt(document, 0).settings).toMatchObject({
      provider: 'groq',
      apiKey: null,
      account: {},
    });
    expect(leafAt(document, 1).settings).toMatchObject({ apiKey: 'secret-of-openai' });
    expect(leafAt(document, 2).settings).toMatchObject({ provider: null, apiKey: null });
  });
});

describe('a condition', () => {
  const subject = {
    metadata: { plan: 'paid', age: 30, seats: '25', since: '2026-09-30' },
    params: { model: 'gpt-4', temperature: 0.5, messages: [] },
    url: { pathname: '/v1/chat/completions' },
  };
  it.each([
    [{ 'metadata.plan': 'paid' }, true],
    [{ 'metadata.plan': { $eq: 'free' } }, false],
    [{ 'metadata.plan': { $ne: 'free' } }, true],
    [{ 'metadata.none': { $ne: 'free' } }, true],
    [{ 'metadata.none': { $eq: undefined } }, false],
    [{ 'metadata.none': { $nin: ['a'] } }, true],
    [{ 'metadata.age': { $gt: 20, $lte: 30 } }, true],
    [{ 'metadata.age': { $gt: '20' } }, true],
    [{ 'metadata.age': { $gt: 'twenty' } }, false],
    [{ 'metadata.seats': { $gt: 10, $lt: 100 } }, true],
    [{ 'metadata.seats': { $lt: '9' } }, false],
    [{ 'metadata.since': { $gte: '2026-01-01', $lt: '2026-10-01' } }, true],
    [{ 'metadata.age': { $regex: '^3' } }, true],
    [{ 'metadata.plan': { $gte: 'paid', $lt: 'paie' } }, true],
    [{ 'params.model': { $in: ['gpt-4', 'x'] } }, true],
    [{ 'params.model': { $regex: '^gpt-' } }, true],
    [{ 'params.messages': { $ne: 1 } }, true],
    [{ 'url.pathname': { $regex: 'completions$' } }, true],
    [{ 'metadata.plan': { $unknown: 1 } }, false],
    [{ $and: [{ 'metadata.plan': 'paid' }], 'metadata.age': 31 }, false],
    [{ $or: [{ 'metadata.plan': 'free' }, { 'metadata.age': 30 }] }, true],
    [{ $or: [{ 'metadata.plan': 'free' }], 'metadata.age': 30 }, false],
    [{ 'metadata.__proto__': { $ne: 1 } }, true],
    [{ 'metadata.constructor': { $regex: '.' } }, false],
  ])('evaluates all parts of %j', (query, expected) => {
    expect(matchesQuery(query, subject)).toBe(expected);
  });

  it('leads to the first target whose query matches, else to the default', () => {
    const document = {
      strategy: {
        mode: 'conditional',
        conditions: JSON.parse(`[
          {"query": {"metadata.plan": "free"}, "then": "slow"},
          {"query": {"metadata.plan": "paid"}, "then": "fast"}
        ]`),
        default: 'slow',
      },
      targets: [
        { name: 'slow', provider: 'groq' },
        { name: 'fast', provider: 'openai' },
      ],
    };
    const branch = buildConfigTree(document) as ConfigBranch;
    expect(conditionalTarget(branch, subject)!.path).toBe('config.targets[1]');
    const other = { ...subject, metadata: {} };
    expect(conditionalTarget(branch, other)!.path).toBe('config.targets[0]');
  });
});

describe('shares', () => {
  const leaf = (weight: number): ConfigLeaf => ({
    kind: 'leaf',
    isMeasured: false,
    path: `w${weight}`,
    weight,
    settings: defaultTargetSettings,
    breaker: null,
    hedge: null,
  });

  it('follows the weights of the targets, and never select one of weight 0', () => {
    const targets = [leaf(0), leaf(3), leaf(1), leaf(0)];
    const counts = new Map<string, number>();
    for (let at = 0; at < 1000; at += 1) {
      const { path } = weightedTarget(targets, at / 1000);
      counts.set(path, (counts.get(path) ?? 0) + 1);
    }
    expect(Object.fromEntries(counts)).toEqual({ w3: 750, w1: 250 });
  });

  it('selects some target for any weights and any random number', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 8 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (weights, chance) => {
          const target = weightedTarget(weights.map(leaf), chance);
          const isAllowed = target.weight > 0 || weights.every((weight) => weight === 0);
          expect(isAllowed).toBe(true);
        },
      ),
    );
  });

  it('selects the same target for the same sticky fields until the time is over', () => {
    const sticky = { fields: ['_user', 'params.model'], ttlSeconds: 60 };
    const of = (user: string, now: number): number =>
      stickyChance(
        sticky,
        'config',
        { metadata: { _user: user }, params: {}, url: { pathname: '' } },
        now,
      );
    expect(of('a', 0)).toBe(of('a', 59_999));
    expect(of('a', 0)).not.toBe(of('b', 0));
    expect(of('a', 0)).not.toBe(of('a', 60_000));
    expect(of('a', 0)).toBeLessThan(1);
  });
});

describe('parameters', () => {
  it('applies defaults, then overrides, then removes dropped parameters', () => {
    const params = { a: 1, keep: true, list: [{ x: 1, y: 2 }, { x: 3 }] };
    const changes = paramChanges(params, {
      defaultParams: { a: 9, b: 2 },
      overrideParams: { c: 3 },
      dropParams: ['keep', 'list[*].x', 'c', 'absent.path', 'a.b'],
    });
    expect(Object.fromEntries(changes!)).toEqual({
      b: 2,
      c: undefined,
      keep: undefined,
      list: [{ y: 2 }, {}],
      a: 1,
    });
  });

  it('passes unmentioned parameters unchanged', () => {
    const rules = { defaultParams: null, overrideParams: null, dropParams: null };
    expect(paramChanges({ a: 1 }, rules)).toBeNull();
  });
});

describe('members of an object', () => {
  const json = fc
    .object({ maxDepth: 3, withBoxedValues: false })
    .map((value) => JSON.parse(JSON.stringify(value)));

  it('finds members in any JSON, however it is spaced, and copies them byte for byte', () => {
    fc.assert(
      fc.property(json, fc.constantFrom(0, 1, '\t'), fc.jsonValue(), (value, space, added) => {
        const bytes = Buffer.from(JSON.stringify(value, null, space));
        const members = locateMembers(bytes)!;
        expect([...members.keys()]).toEqual(Object.keys(JSON.parse(bytes.toString())));
        const changed = withMembers(bytes, members, new Map([['added "', added]]));
        expect(JSON.parse(changed.toString())).toEqual({
          ...value,
          'added "': JSON.parse(JSON.stringify(added)),
        });
      }),
    );
  });

  it('keeps bytes that a serialiser would write differently, and removes dropped members', () => {
    const bytes = Buffer.from(
      '{"a": 1.0 , "b":"\\u00e9\\\\", "c":[ {"}":"]"} ],"d":10000000000000000001}',
    );
    const members = locateMembers(bytes)!;
    const changed = withMembers(
      bytes,
      members,
      new Map<string, unknown>([
        ['b', undefined],
        ['e', 1],
      ]),
    );
    expect(changed.toString()).toBe('{"a": 1.0,"c":[ {"}":"]"} ],"d":10000000000000000001,"e":1}');
  });

  it('reports members that occur twice, in whichever spelling', () => {
    expect(locateMembers(Buffer.from('{"a":1,"a":2}'))).toBeNull();
    expect(locateMembers(Buffer.from('{"a":1,"\\u0061":2}'))).toBeNull();
    expect([...locateMembers(Buffer.from('{"a":{"b":1},"b":{"b":2}}'))!.keys()]).toEqual([
      'a',
      'b',
    ]);
  });
});
