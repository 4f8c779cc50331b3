/** Knows the cases of conditions: every operator, how they are put together, and what they look at. */
import { type Case, chat, targets } from '../case.ts';

/** Written without a member `then`, which awaiting would take for that of a promise. */
const when = (query: object, name: string): object =>
  Object.fromEntries([
    ['query', query],
    ['then', name],
  ]);

const conditional = (conditions: readonly object[], more: object = { default: 'z' }): object => ({
  strategy: { mode: 'conditional', conditions, ...more },
  targets: targets('a', 'b', 'z'),
});

/** Leads to `a` where the query holds, else to `z`. */
const asked = (name: string, query: object, metadata: object, params: object = {}): Case => ({
  name: `conditional: ${name}`,
  config: conditional([when(query, 'a')]),
  headers: { 'x-portkey-metadata': JSON.stringify(metadata) },
  body: { ...chat, ...params },
});

/** Of each operator: what it is given, and values of `metadata.k` to ask about; undefined is none. */
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
    asked(
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
  asked('a value without an operator', isPaid, paid),
  asked('a value without an operator that differs', isPaid, plain),
  asked('a value that is null', { 'metadata.plan': null }, { plan: null }),
  asked('two operators on a value, both hold', { 'metadata.k': { $gt: 1, $lt: 5 } }, { k: 3 }),
  asked('two operators on a value, one holds', { 'metadata.k': { $gt: 1, $lt: 5 } }, { k: 7 }),
  asked('an operator behind $regex', { 'metadata.k': { $regex: '^x', $ne: 'xy' } }, { k: 'xy' }),
  asked('two keys, both hold', { ...isPaid, ...isLarge }, paid, { max_tokens: 200 }),
  asked('two keys, one holds', { ...isPaid, ...isLarge }, paid, { max_tokens: 50 }),
  asked('$and, both hold', { $and: [isPaid, isLarge] }, paid, { max_tokens: 200 }),
  asked('$and, one holds', { $and: [isPaid, isLarge] }, plain, { max_tokens: 200 }),
  asked('$and of nothing', { $and: [] }, {}),
  asked('$or, both hold', { $or: [isPaid, isLarge] }, paid, { max_tokens: 200 }),
  asked('$or, one holds', { $or: [isPaid, isLarge] }, plain, { max_tokens: 200 }),
  asked('$or, none holds', { $or: [isPaid, isLarge] }, plain),
  asked('$or of nothing', { $or: [] }, {}),
  asked('$or in $and', { $and: [{ $or: [isPaid, isLarge] }, isPaid] }, paid),
  asked('$or in $and that does not hold', { $and: [{ $or: [isPaid, isLarge] }, isPaid] }, plain),
  asked('$and in $or', { $or: [{ $and: [isPaid, isLarge] }, { 'metadata.k': 'v' }] }, { k: 'v' }),
  asked('a key before $and', { ...isLarge, $and: [isPaid] }, paid),
  asked('a key behind $and that holds', { $and: [isPaid], ...isLarge }, paid, { max_tokens: 200 }),
  asked('a key behind $and that does not hold', { $and: [isPaid], ...isLarge }, paid),
  asked('a key behind $or that does not hold', { $or: [isPaid], ...isLarge }, paid),
  asked('a key behind $or that does not, which is false', { $or: [isPaid], ...isLarge }, plain),
  asked('$or behind $and', { $and: [isPaid], $or: [isLarge] }, paid),
];

const subjects: Case[] = [
  asked('the model asked for', { 'params.model': { $in: ['gpt-4o', 'gpt-5'] } }, {}),
  asked('another model', { 'params.model': { $regex: '^claude' } }, {}),
  asked(
    'a number of the parameters',
    { 'params.temperature': { $lte: 0.5 } },
    {},
    { temperature: 0.5 },
  ),
  asked('a word of the parameters', { 'params.stream': false }, {}, { stream: false }),
  asked('a parameter that is an object', { 'params.stop': { $ne: 'x' } }, {}, { stop: ['x'] }),
  asked('a parameter that is not sent', { 'params.user': 'x' }, {}),
  asked('a key of three parts', { 'params.metadata.k': 'v' }, {}, { metadata: { k: 'v' } }),
  asked('a key of one part', { metadata: 'x' }, { metadata: 'x' }),
  asked('a key of nothing that there is', { 'headers.k': 'v' }, { k: 'v' }),
  asked('the path', { 'url.pathname': '/v1/chat/completions' }, {}),
  asked('the end of the path', { 'url.pathname': { $regex: 'completions$' } }, {}),
  asked('another path', { 'url.pathname': { $eq: '/v1/embeddings' } }, {}),
  asked('a name that objects have by nature', { 'metadata.constructor': { $ne: 'x' } }, {}),
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
