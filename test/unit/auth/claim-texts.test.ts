/** Verifies which texts a claim of an identity provider grants roles and groups by. */
import { describe, expect, it } from 'vitest';
import { claimTexts } from '../../../src/auth/identity-provider.ts';

describe('claimTexts', () => {
  it('returns one text or a list of them', () => {
    expect(claimTexts({ groups: 'ops' }, 'groups')).toEqual(['ops']);
    expect(claimTexts({ groups: ['ops', 'dev'] }, 'groups')).toEqual(['ops', 'dev']);
  });

  it('reads a nested claim by a dotted path, and prefers a claim of that whole name', () => {
    const nested = { realm_access: { roles: ['admin'] } };
    expect(claimTexts(nested, 'realm_access.roles')).toEqual(['admin']);
    const both = { ...nested, 'realm_access.roles': 'user' };
    expect(claimTexts(both, 'realm_access.roles')).toEqual(['user']);
    expect(claimTexts({ 'https://a.example/roles': 'x' }, 'https://a.example/roles')).toEqual([
      'x',
    ]);
  });

  it('returns nothing for an absent claim, and for a path through something else than an object', () => {
    const claims = { groups: 'ops', none: null, realm_access: {} };
    for (const path of ['roles', 'groups.length', 'none.roles', 'realm_access.roles', 'a.b.c']) {
      expect([path, claimTexts(claims, path)]).toEqual([path, []]);
    }
  });

  it('ignores values that are no texts', () => {
    expect(claimTexts({ groups: ['ops', 7, null, { a: 1 }] }, 'groups')).toEqual(['ops']);
    expect(claimTexts({ groups: true }, 'groups')).toEqual([]);
  });

  it('never reads what a claim inherits', () => {
    expect(claimTexts({ realm_access: {} }, 'realm_access.constructor.name')).toEqual([]);
    expect(claimTexts({}, 'constructor.name')).toEqual([]);
  });
});
