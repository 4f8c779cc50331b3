/** Cases about conditions: every operator, their combination, and the values they compare. */
import { type Case, chat, targets } from '../case.ts';

/** Defined without a literal member `then`, which `await` would take for a promise's. */
const when = (query: object, name: string): object =>
  Object.fromEntries([
    ['query', query],
    ['then', name],
  ]);

const conditional = (conditions: readonly object[], more: object = { default: 'z' }): object => ({
  strategy: { mode: 'conditional', conditions, ...more },
  targets: targets('a', 'b', 'z'),
});

/** Routes to `a` if the query matches, else to `z`. */
const requested = (name: string, query: object, metadata: object, params: object = {}): Case => ({
  name: `conditional: ${name}`,
  config: conditional([when(query, 'a')]),
  headers: { 'x-portkey-metadata': JSON.stringify(metadata) },
  body: { ...chat, ...params },
});

/** For each operator: its operand, and values of `metadata.k` to compare; undefined is none. */
const ofMetadata: readonly [string, unknown, readonly unknown[]][] = [
  ['$eq', 'x', ['x', 'y', 'X', '', undefined]],
  ['$eq', 5, [5, '5']],
  ['$eq', true, [true, 'true']],
  ['$ne', 'x', ['x', 'y', undefined]],
  ['$gt', 10, [11, 10, 9, '11', '9', 'many', undefined]],
  ['$gt', '10', ['9', '11', 11]],
  ['$gte', 10, [11, 10, 9, '10', undefined]],
  ['$lt', 10, [11, 10, 9, '9', '100', undefined]],
  ['$lt', '2026-06-01', ['2026-01-01']],
  ['$lte', 10, [11, 10, 9, '10', undefined]],
  ['$gt', 10, ['11 apples']],
  ['$in', ['x', 'y'], ['x', 'y', 'z', undefined]],
  ['$in', [5], [5, '5']],
  ['$in', 'xyz', ['x']],
  ['$nin', ['x', 'y'], ['x', 'z', undefined]],
  ['$nin', 'xyz', ['x']],
  ['$regex', '^pro', ['pro', 'premium', 'a pro', undefined]],
  ['$regex', 'b.d$', ['abcd', 'bad', 'bed ']],
  ['$regex', '^5', [5, 15]],
  ['$regex', 'undefined', [undefined]],
];

const operators: Case[] = ofMetadata.flatMap(([operator, operand, values]) =>
  values.map((value) =>
    requested(
      `${operator} ${JSON.stringify(operand)} of ${JSON.stringify(value) ?? 'nothing'}`,
      { 'metadata.k': { [operator]: operand } },
      value === undefined ? {} : { k: value },
    ),
  ),
);

const [paid, plain] = [{ plan: 'paid' }, { plan: 'plain' }];
const isPaid = { 'metadata.plan': 'paid' };
const isLarge = { 'params.max_tokens': { $gt: 100 } };

const together: Case[] = [
  requested('a value without an operator', isPaid, paid),
  requested('a value without an operator that differs', isPaid, plain),
  requested('a value that is null', { 'metadata.plan': null }, { plan: null }),
  requested('two operators on a value, both hold', { 'metadata.k': { $gt: 1, $lt: 5 } }, { k: 3 }),
  requested('two operators on a value, one holds', { 'metadata.k': { $gt: 1, $lt: 5 } }, { k: 7 }),
  requested(
    'an operator behind $regex',
    { 'metadata.k': { $regex: '^x', $ne: 'xy' } },
    { k: 'xy' },
  ),
  requested('two keys, both hold', { ...isPaid, ...isLarge }, paid, { max_tokens: 200 }),
  requested('two keys, one holds', { ...isPaid, ...isLarge }, paid, { max_tokens: 50 }),
  requested('$and, both hold', { $and: [isPaid, isLarge] }, paid, { max_tokens: 200 }),
  requested('$and, one holds', { $and: [isPaid, isLarge] }, plain, { max_tokens: 200 }),
  requested('$and of nothing', { $and: [] }, {}),
  requested('$or, both hold', { $or: [isPaid, isLarge] }, paid, { max_tokens: 200 }),
  requested('$or, one holds', { $or: [isPaid, isLarge] }, plain, { max_tokens: 200 }),
  requested('$or, none holds', { $or: [isPaid, isLarge] }, plain),
  requested('$or of nothing', { $or: [] }, {}),
  requested('$or in $and', { $and: [{ $or: [isPaid, isLarge] }, isPaid] }, paid),
  requested(
    '$or in $and that does not hold',
    { $and: [{ $or: [isPaid, isLarge] }, isPaid] },
    plain,
  ),
  requested(
    '$and in $or',
    { $or: [{ $and: [isPaid, isLarge] }, { 'metadata.k': 'v' }] },
    { k: 'v' },
  ),
  requested('a key before $and', { ...isLarge, $and: [isPaid] }, paid),
  requested('a key behind $and that holds', { $and: [isPaid], ...isLarge }, paid, {
    max_tokens: 200,
  }),
  requested('a key behind $and that does not hold', { $and: [isPaid], ...isLarge }, paid),
  requested('a key behind $or that does not hold', { $or: [isPaid], ...isLarge }, paid),
  requested('a key behind $or that does not, which is false', { $or: [isPaid], ...isLarge }, plain),
  requested('$or behind $and', { $and: [isPaid], $or: [isLarge] }, paid),
];

const subjects: Case[] = [
  requested('the model asked for', { 'params.model': { $in: ['gpt-4o', 'gpt-5'] } }, {}),
  requested('another model', { 'params.model': { $regex: '^claude' } }, {}),
  requested(
    'a number of the parameters',
    { 'params.temperature': { $lte: 0.5 } },
    {},
    { temperature: 0.5 },
  ),
  requested('a word of the parameters', { 'params.stream': false }, {}, { stream: false }),
  requested('a parameter that is an object', { 'params.stop': { $ne: 'x' } }, {}, { stop: ['x'] }),
  requested('a parameter that is not sent', { 'params.user': 'x' }, {}),
  requested('a key of three parts', { 'params.metadata.k': 'v' }, {}, { metadata: { k: 'v' } }),
  requested('a key of one part', { metadata: 'x' }, { metadata: 'x' }),
  requested('a key of nothing that there is', { 'headers.k': 'v' }, { k: 'v' }),
  requested('the path', { 'url.pathname': '/v1/chat/completions' }, {}),
  requested('the end of the path', { 'url.pathname': { $regex: 'completions$' } }, {}),
  requested('another path', { 'url.pathname': { $eq: '/v1/embeddings' } }, {}),
  requested('a name that objects have by nature', { 'metadata.constructor': { $ne: 'x' } }, {}),
  {
    name: 'conditional: no metadata at all',
    config: conditional([when(isPaid, 'a')]),
  },
  {
    name: 'conditional: metadata that is no JSON',
    config: conditional([when(isPaid, 'a')]),
    headers: { 'x-portkey-metadata': '{' },
  },
  {
    name: 'conditional: the first of two that hold',
    config: conditional([
      when({ 'params.model': 'gpt-4o' }, 'b'),
      when({ 'params.model': { $ne: 'x' } }, 'a'),
    ]),
  },
  {
    name: 'conditional: the second where the first does not hold',
    config: conditional([when(isPaid, 'b'), when({ 'params.model': { $ne: 'x' } }, 'a')]),
  },
  {
    name: 'conditional: a query without a part',
    config: conditional([when({}, 'a')]),
  },
  {
    name: 'conditional: no default, and none that holds',
    config: conditional([when(isPaid, 'a')], {}),
  },
  {
    name: 'conditional: a target that there is not',
    config: conditional([when({ 'params.model': 'gpt-4o' }, 'none')]),
  },
  {
    name: 'conditional: an operator that there is not',
    config: conditional([when({ 'params.model': { $like: 'gpt' } }, 'a')]),
  },
  {
    name: 'conditional: a pattern that is none',
    config: conditional([when({ 'params.model': { $regex: '(' } }, 'a')]),
  },
];

export const conditionCases: readonly Case[] = [...operators, ...together, ...subjects];
