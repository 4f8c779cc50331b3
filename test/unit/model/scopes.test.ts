/** Tests scopes: nothing is granted beyond the holder, and removing roles never adds any. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  allScopes,
  grantsScope,
  isKnownScope,
  scopesBeyond,
  scopesOfRole,
  scopesOfRoles,
} from '../../../src/model/people/scopes.ts';

const scope = fc.constantFrom(...allScopes);
const scopes = fc.uniqueArray(scope);
const roles = fc.array(fc.constantFrom('superuser', 'view_only_admin', 'auditor:1234567890', 'x'));

describe('scopes', () => {
  it('covers itself and nothing else', () => {
    fc.assert(
      fc.property(scopes, scope, (held, wanted) => {
        expect(grantsScope(held, wanted)).toBe(held.includes(wanted));
      }),
    );
  });

  it('limits a child that passes the check to a subset of the creator’s scopes', () => {
    fc.assert(
      fc.property(scopes, scopes, (held, wanted) => {
        const beyond = scopesBeyond(held, wanted);
        const passing = wanted.filter((one) => !beyond.includes(one));
        expect(scopesBeyond(held, passing)).toEqual([]);
        expect(passing.filter((used) => !grantsScope(held, used))).toEqual([]);
      }),
    );
  });

  it('names every scope beyond the creator’s', () => {
    fc.assert(
      fc.property(scopes, scopes, (held, wanted) => {
        const beyond = scopesBeyond(held, wanted);
        expect(beyond).toEqual(wanted.filter((one) => !held.includes(one)));
      }),
    );
  });

  it('never grows when a role is removed', () => {
    fc.assert(
      fc.property(roles, fc.nat(), (held, at) => {
        const fewer = held.filter((_, index) => index !== at);
        expect(scopesBeyond(scopesOfRoles(held), scopesOfRoles(fewer))).toEqual([]);
      }),
    );
  });

  it('matches no wildcard or prefix, and list does not imply read', () => {
    expect(isKnownScope('*')).toBe(false);
    expect(isKnownScope('configs.*')).toBe(false);
    expect(grantsScope(['configs.list', 'configs.*', '*'], 'configs.read')).toBe(false);
  });

  it('treats deployments scopes with a dot and with a colon as the same', () => {
    expect(isKnownScope('deployments:list')).toBe(true);
    expect(grantsScope(['deployments:list'], 'deployments.list')).toBe(true);
    expect(grantsScope(['deployments.list'], 'deployments:list')).toBe(true);
    expect(isKnownScope('configs:list')).toBe(false);
  });

  it('includes every scope that the API publishes', () => {
    const published = [
      'completions.write',
      'logs.export',
      'logs.list',
      'logs.view',
      'mcp.invoke',
      ...['create', 'update', 'delete', 'read', 'list'].flatMap((action) => [
        `configs.${action}`,
        `virtual_keys.${action}`,
        `organisation_guardrails.${action}`,
        `deployments:${action}`,
      ]),
      'virtual_keys.copy',
      'organisation_settings.read',
      'organisation_settings.update',
      'organisation_exclusions.list',
      'organisation_exclusions.update',
    ];
    expect(published.filter((one) => !isKnownScope(one))).toEqual([]);
  });
});

describe('roles', () => {
  it('grants everything to superuser', () => {
    expect(scopesOfRole('superuser')).toEqual(allScopes);
  });

  it('grants view_only_admin nothing that changes or uses anything', () => {
    const actions = new Set(scopesOfRole('view_only_admin').map((one) => one.split('.')[1]));
    expect([...actions].sort()).toEqual(['list', 'read', 'view']);
  });

  it.each(['auditor:1234567890', 'constructor', '__proto__', ''])(
    'grants nothing to the undefined role %j',
    (role) => {
      expect(scopesOfRole(role)).toEqual([]);
    },
  );
});
