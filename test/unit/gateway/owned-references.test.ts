/** Verifies that references to stored objects are found wherever an accepted body may contain them. */
import { expect, it } from 'vitest';
import {
  accountDataTypeIn,
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
