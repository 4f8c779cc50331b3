/** Checks that members without a counterpart are left out or refused as the config says, and recorded. */
import { describe, expect, it } from 'vitest';
import {
  DocumentNode,
  NotTranslatable,
  type UnsupportedTerms,
} from '../../../src/upstream/documents/document-node.ts';
import { parseExactly } from '../../../src/upstream/documents/exact-json.ts';

const request = { model: 'm', tools: [{ later: 1 }, { later: 2 }], top_k: 5 };

/** Applies the treatments of a hint and of a member with a meaning; returns what was recorded. */
function treat(unsupported: UnsupportedTerms['unsupported'], isHint: boolean): readonly string[] {
  const terms = { unsupported, dropped: [] as string[] };
  const node = DocumentNode.ofRequest(request, terms);
  for (const tool of node.at('tools').items()) {
    if (isHint) tool.at('later').dropHint();
    else tool.only('name');
  }
  return terms.dropped;
}

describe('a member without a counterpart', () => {
  it.each<[UnsupportedTerms['unsupported'], boolean]>([
    [null, true],
    ['drop', true],
    ['drop', false],
  ])('is recorded once without indexes, unsupported: %s, hint: %s', (unsupported, isHint) => {
    expect(treat(unsupported, isHint)).toEqual(['tools[].later']);
  });

  it.each<[UnsupportedTerms['unsupported'], boolean, string]>([
    [null, false, 'set unsupported: drop in the config'],
    ['refuse', false, 'set unsupported: drop in the config'],
    ['refuse', true, 'remove unsupported: refuse from the config'],
  ])('is refused with its path and the remedy, unsupported: %s, hint: %s', (...given) => {
    const [unsupported, isHint, remedy] = given;
    expect(() => treat(unsupported, isHint)).toThrow(NotTranslatable);
    expect(() => treat(unsupported, isHint)).toThrow(
      `tools[0].later has no counterpart in the format of the provider: leave it out, or ${remedy}`,
    );
  });

  it('is not recorded beyond 20 paths and 200 characters of each', () => {
    const terms = { unsupported: 'drop', dropped: [] as string[] } as const;
    const members = Array.from({ length: 30 }, (_, at) => [`${at}${'x'.repeat(300)}`, at]);
    DocumentNode.ofRequest(Object.fromEntries(members), terms).only();
    expect(terms.dropped.map(({ length }) => length)).toEqual(
      Array.from({ length: 20 }, () => 200),
    );
  });
});

describe('JSON that is parsed exactly', () => {
  it.each([
    '{"id":12345678901234567890,"n":[9007199254740993,-9007199254740993]}',
    '[9007199254740991,-9007199254740991,0.5,1234567890123456]',
    '12345678901234567890',
    '{"id":"a1234567890123456789","n":1.5}',
  ])('is written back digit by digit, %s', (text) => {
    expect(JSON.stringify(parseExactly(text))).toBe(text);
  });
});
