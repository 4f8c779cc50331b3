/** Verifies which rules of a server make its lists depend on the caller. */
import { expect, it } from 'vitest';
import { CapabilityRules } from '../../../src/mcp/messages/capability-rules.ts';
import { isPerCaller, type PlaneServer } from '../../../src/mcp/plane/plane-server.ts';

const open = {
  allowsUnlistedUsers: true,
  users: new Map(),
  capabilities: new CapabilityRules([]),
  pins: { isEnforced: false },
  userOAuth: null,
  login: null,
  identity: null,
  forward: null,
};
const disabled = {
  type: 'tool',
  name: 'x',
  isEnabled: false,
  uri: null,
  uriTemplate: null,
} as const;
const judge = (more: object): boolean =>
  isPerCaller({ ...open, ...more } as unknown as PlaneServer);

it('finds no rule in an open server, and none in a token that all callers share', () => {
  expect(judge({})).toBe(false);
  expect(judge({ login: { exchangesToken: false } })).toBe(false);
});

it.each([
  ['a default of deny', { allowsUnlistedUsers: false }],
  ['a listed user', { users: new Map([['u', true]]) }],
  ['a disabled tool', { capabilities: new CapabilityRules([disabled]) }],
  ['enforced definitions', { pins: { isEnforced: true } }],
  ['accounts of users', { userOAuth: {} }],
  ['exchanged tokens', { login: { exchangesToken: true } }],
  ['a forwarded identity', { identity: { method: 'claims_header' } }],
  ['forwarded headers', { forward: ['x-team'] }],
])('finds the rule in %s', (_, more) => {
  expect(judge(more)).toBe(true);
});
