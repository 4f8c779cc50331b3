/** Cases about strategies independent of the request: single, fallback, loadbalance, and nested ones. */
import { type Case, target, targets } from '../case.ts';
import type { Answer, Script } from '../scripted-upstream.ts';

const fallback = (list: readonly object[], more: object = {}): object => ({
  strategy: { mode: 'fallback', ...more },
  targets: list,
});
const single = (one: object): object => ({ strategy: { mode: 'single' }, targets: [one] });
const loadbalance = (list: readonly object[]): object => ({
  strategy: { mode: 'loadbalance' },
  targets: list,
});
const failing = (status: number): Answer => ({
  status,
  body: { error: { message: `of ${status}` } },
});
const failingAt = (...places: readonly string[]): Script =>
  Object.fromEntries(places.map((place) => [place, [failing(503)]]));

const failures = [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529];

const fallbacks: Case[] = [
  ...failures.map((status) => ({
    name: `fallback: after ${status}`,
    config: fallback(targets('a', 'b')),
    script: { a: [failing(status)] },
  })),
  ...[200, 201, 202, 204].map((status) => ({
    name: `fallback: not after ${status}`,
    config: fallback(targets('a', 'b')),
    script: { a: [status === 204 ? { status, body: '' } : { status }] },
  })),
  ...failures.map((status) => ({
    name: `fallback: only after listed codes, ${status}`,
    config: fallback(targets('a', 'b'), { on_status_codes: [429, 503, 529] }),
    script: { a: [failing(status)] },
  })),
  {
    name: 'fallback: after a listed 200',
    config: fallback(targets('a', 'b'), { on_status_codes: [200] }),
  },
  {
    name: 'fallback: after none, where no code is listed',
    config: fallback(targets('a', 'b'), { on_status_codes: [] }),
    script: failingAt('a'),
  },
  {
    name: 'fallback: to the third of three',
    config: fallback(targets('a', 'b', 'c')),
    script: failingAt('a', 'b'),
  },
  {
    name: 'fallback: of three that all fail, the last answers',
    config: fallback(targets('a', 'b', 'c')),
    script: { a: [failing(500)], b: [failing(502)], c: [failing(429)] },
  },
  {
    name: 'fallback: of three, the second fails in a way that is not listed',
    config: fallback(targets('a', 'b', 'c'), { on_status_codes: [503] }),
    script: { a: [failing(503)], b: [failing(400)] },
  },
  {
    name: 'fallback: of one target',
    config: fallback(targets('a')),
    script: failingAt('a'),
  },
  {
    name: 'fallback: of ten targets to the last',
    config: fallback(targets(...'abcdefghij')),
    script: failingAt(...'abcdefghi'),
  },
  {
    name: 'fallback: to another credential of the same place',
    config: fallback([target('a', { api_key: 'sk-first' }), target('a', { api_key: 'sk-second' })]),
    script: { a: [failing(429), {}] },
  },
];

const nested: Case[] = [
  {
    name: 'nested: single in single',
    config: single(single(target('a'))),
  },
  {
    name: 'nested: fallback within fallback goes on behind it',
    config: fallback([fallback(targets('a', 'b')), target('c')]),
    script: failingAt('a', 'b'),
  },
  {
    name: 'nested: fallback within fallback, inner one succeeds',
    config: fallback([fallback(targets('a', 'b')), target('c')]),
    script: failingAt('a'),
  },
  {
    name: 'nested: inner codes let an answer pass that the outer takes for a failure',
    config: fallback([fallback(targets('a', 'b'), { on_status_codes: [429] }), target('c')]),
    script: failingAt('a'),
  },
  {
    name: 'nested: outer codes let an answer pass that the inner took for a failure',
    config: fallback([fallback(targets('a', 'b')), target('c')], { on_status_codes: [429] }),
    script: failingAt('a', 'b'),
  },
  {
    name: 'nested: single within fallback',
    config: fallback([single(target('a')), target('b')]),
    script: failingAt('a'),
  },
  {
    name: 'nested: loadbalance within fallback',
    config: fallback([
      loadbalance([target('a', { weight: 0 }), target('b', { weight: 1 })]),
      target('c'),
    ]),
    script: failingAt('b'),
  },
  {
    name: 'nested: fallback within loadbalance',
    config: loadbalance([
      target('a', { weight: 0 }),
      { ...fallback(targets('b', 'c')), weight: 1 },
    ]),
    script: failingAt('b'),
  },
  {
    name: 'nested: four levels',
    config: single(fallback([loadbalance([single(target('a'))]), fallback(targets('b', 'c'))])),
    script: failingAt('a', 'b'),
  },
  {
    name: 'nested: all of four levels fail',
    config: single(fallback([loadbalance([single(target('a'))]), fallback(targets('b', 'c'))])),
    script: failingAt('a', 'b', 'c'),
  },
];

/** All weights but one are zero, so the result does not depend on chance. */
const balances: Case[] = [
  [1],
  [1, 0],
  [0, 1],
  [1, 0, 0],
  [0, 1, 0],
  [0, 0, 1],
  [0, 0, 0, 5],
  [0.25, 0],
  [0, 0.0001],
  [0, 1_000_000, 0],
].map((weights) => ({
  name: `loadbalance: by weights ${weights.join(' ')}`,
  config: loadbalance(weights.map((weight, index) => target('abcd'[index]!, { weight }))),
}));

const balancesBeside: Case[] = [
  {
    name: 'loadbalance: of one target without a weight',
    config: loadbalance(targets('a')),
  },
  {
    name: 'loadbalance: of two targets, the other of which has no weight but 1',
    config: loadbalance([target('a', { weight: 0 }), target('b')]),
  },
  {
    name: 'loadbalance: the target chosen fails, and no other is tried',
    config: loadbalance([target('a', { weight: 1 }), target('b', { weight: 0 })]),
    script: failingAt('a'),
  },
];

const singles: Case[] = [
  { name: 'single: a target alone', config: target('a') },
  { name: 'single: one target', config: single(target('a')) },
  {
    name: 'single: the first of two targets',
    config: { strategy: { mode: 'single' }, targets: targets('a', 'b') },
  },
  {
    name: 'single: a failure is the answer',
    config: single(target('a')),
    script: failingAt('a'),
  },
  { name: 'single: targets without a strategy', config: { targets: targets('a', 'b') } },
  {
    name: 'single: an unknown mode',
    config: { strategy: { mode: 'none' }, targets: targets('a') },
  },
  { name: 'single: no targets', config: { strategy: { mode: 'single' }, targets: [] } },
];

export const routingCases: readonly Case[] = [
  ...singles,
  ...fallbacks,
  ...balances,
  ...balancesBeside,
  ...nested,
];
