/** Verifies that references to stored objects are found wherever an accepted body may contain them. */
import { expect, it } from 'vitest';
import {
  accountDataTypeIn,
  findReferences,
  referencesOf,
} from '../../../src/gateway/references/owned-references.ts';
import { allEndpoints } from '../../../src/model/endpoints/catalogue.ts';
import { nestedIn, nestings } from '../../support/network/nested-values.ts';

const members = [...new Set(allEndpoints.flatMap(({ references }) => references))];

it.each(nestings)('finds every member that names an object %i levels deep', (levels) => {
  const found = members.flatMap((member) => {
    const part = { [member.toUpperCase()]: { ID: 'skill_or-file-1' } };
    return referencesOf({ content: nestedIn(part, levels) }, { kind: null, references: members });
  });
  expect(found).toMatchObject(members.map((param) => ({ param, id: 'skill_or-file-1' })));
});

it.each(nestings)('finds an item of a response %i levels deep', (levels) => {
  const item = { type: 'item_reference', id: 'msg_1' };
  const found = referencesOf(
    { input: nestedIn(item, levels) },
    { kind: 'responses', references: [] },
  );
  expect(found).toMatchObject([{ kind: 'items', id: 'msg_1' }]);
});

it.each(nestings)(
  'finds the file and the data source of an evaluation %i levels deep',
  (levels) => {
    const source = { type: 'file_id', id: 'file-1' };
    const form = { kind: 'evals', references: [] } as const;
    expect(referencesOf({ data: nestedIn(source, levels) }, form)).toMatchObject([
      { id: 'file-1' },
    ]);
    expect(accountDataTypeIn({ data: nestedIn({ Type: 'logs' }, levels) })).toBe('logs');
  },
);

it.each([
  { type: 'Item_Reference', id: 'msg_1' },
  { type: 'image_generation_call', id: 'msg_1' },
  { type: 'image_generation_call', id: 'msg_1', result: null },
  { type: 'reasoning', id: 'msg_1', summary: [] },
  { id: 'msg_1' },
])('finds an item that the provider completes by its id: %j', (item) => {
  const form = { kind: 'responses', references: [] } as const;
  expect(referencesOf({ input: [item] }, form)).toMatchObject([{ kind: 'items', id: 'msg_1' }]);
});

it.each([
  { type: 'image_generation_call', id: 'msg_1', result: 'AAAA' },
  { type: 'message', id: 'msg_1', role: 'user', content: 'x' },
])('finds none in an item with its content: %j', (item) => {
  const form = { kind: 'responses', references: [] } as const;
  expect(referencesOf({ input: [item] }, form)).toEqual([]);
});

const files = { kind: null, references: ['file_id'] } as const;

it.each([
  'gs://bucket/secret',
  'GS://bucket/secret',
  's3://bucket/secret',
  'https://generativelanguage.googleapis.com/v1beta/files/1',
  'https://x@generativelanguage.googleapis.com/v1beta/files/1',
])('finds the address %s, which the provider reads with its account', (url) => {
  for (const member of ['url', 'uri', 'image_url', 'file_url', 'file_uri', 'video_url', 'gcsUri']) {
    expect(referencesOf({ content: [{ [member]: url }] }, files)).toMatchObject([{ id: url }]);
  }
});

it.each([
  'https://example.com/a.png',
  'https://storage.googleapis.com/public/a.png',
  'data:image/png;base64,AAAA',
])('finds no object in the address %s', (url) => {
  expect(referencesOf({ content: [{ image_url: { url } }] }, files)).toEqual([]);
});

it('finds data sources that are read with the identity of the account', () => {
  const source = (authentication?: object) => ({
    type: 'azure_search',
    parameters: { index_name: 'index', authentication },
  });
  const named = (one: object) => referencesOf({ data_sources: [one] }, files);
  for (const type of ['system_assigned_managed_identity', 'User_Assigned_Managed_Identity']) {
    expect(named(source({ type }))).toMatchObject([{ id: 'index', param: 'data_sources' }]);
  }
  expect(named(source())).toHaveLength(1);
  expect(named(source({ type: 'api_key', key: 'of the caller' }))).toEqual([]);
});

it('finds objects in the parameters of a tool that the provider runs, and none in those of a function', () => {
  const parameters = { file_id: 'file-1' };
  const named = (type: string) => referencesOf({ tools: [{ type, parameters }] }, files);
  expect(named('search')).toMatchObject([{ id: 'file-1' }]);
  expect(named('function')).toEqual([]);
});

it('is interrupted again and again in a body with many objects, and names each once', () => {
  const ids = Array.from({ length: 50_000 }, (_, at) => `file-${at % 10_000}`);
  const bodies = [{ file_ids: ids }, { input: ids.map((file_id) => ({ id: 'a', file_id })) }];
  for (const body of bodies) {
    const work = findReferences(body, { kind: null, references: ['file_id', 'file_ids'] });
    let slices = 0;
    let step = work.next();
    for (; step.done !== true; step = work.next()) slices += 1;
    expect(step.value).toHaveLength(10_000);
    expect(slices).toBeGreaterThan(100);
  }
});
