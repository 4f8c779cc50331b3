/** Checks that malformed credentials never reach the database. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAccessTokens } from '../../../src/auth/access-token.ts';
import {
  type AcceptedCredential,
  type AdminCredentials,
  authenticateAdmin,
  authorise,
  createAuthCaches,
} from '../../../src/auth/authenticate.ts';
import { createFailureThrottle } from '../../../src/auth/failure-throttle.ts';
import { deriveKeys } from '../../../src/auth/keyring.ts';
import type { Principal } from '../../../src/auth/principal.ts';
import { isWellFormedApiKey, makeApiKey } from '../../../src/model/people/credentials.ts';
import type { Db } from '../../../src/store/connection/db.ts';

/** Throws a distinct error on any use, so that a 401 proves that there was no look-up. */
const tripwire = new Proxy({} as Db, {
  get: () => {
    throw new Error('the database was asked');
  },
});
const keyring = deriveKeys(Buffer.alloc(32));
const deps = {
  database: { readable: tripwire, db: tripwire },
  keyring,
  tokens: createAccessTokens(keyring),
  throttle: createFailureThrottle(),
  refusals: { record: () => undefined },
  ...createAuthCaches(),
  sessions: { publicUrl: new URL('https://gateway.example.com'), idleMs: 60_000 },
};
const everything: AcceptedCredential[] = ['access-token', 'api-key', 'client'];

function attempt(offered: Partial<AdminCredentials>, accepts = everything): Promise<Principal> {
  const nothing = {
    authorization: null,
    gatewayKey: null,
    browser: null,
    remoteAddress: '127.0.0.1',
  };
  return authenticateAdmin(deps, { ...nothing, ...offered }, accepts, 0);
}

const unauthorized = { kind: 'unauthorized', message: 'Unauthorized access' };

describe('a malformed credential', () => {
  it('rejects any malformed API key without a look-up', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 200 }), async (gatewayKey) => {
        fc.pre(!isWellFormedApiKey(gatewayKey));
        await expect(attempt({ gatewayKey })).rejects.toMatchObject(unauthorized);
      }),
    );
    await expect(attempt({ gatewayKey: 'x'.repeat(10_000_000) })).rejects.toMatchObject(
      unauthorized,
    );
  });

  it('includes a key with one mistyped character', async () => {
    const key = makeApiKey('');
    await expect(attempt({ gatewayKey: key })).rejects.toThrow('the database was asked');
    for (let at = 0; at < key.length; at += 1) {
      const typo = key.slice(0, at) + (key[at] === 'a' ? 'b' : 'a') + key.slice(at + 1);
      await expect(attempt({ gatewayKey: typo })).rejects.toMatchObject(unauthorized);
    }
  });

  it('rejects any malformed authorization without a look-up', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('', 'Bearer', 'bearer ', 'Bearer  ', 'Bearer ', 'Basic ', 'Digest '),
        fc.string(),
        async (scheme, value) => {
          const decoded = Buffer.from(value, 'base64').toString();
          fc.pre(!(scheme === 'Basic ' && /^[\x21-\x7e]+:/.test(decoded)));
          const authorization = scheme + value;
          await expect(attempt({ authorization })).rejects.toMatchObject(unauthorized);
        },
      ),
    );
  });
});

describe('credentials', () => {
  it('rejects two kinds at once before either is looked up', async () => {
    const both = { authorization: 'Bearer x', gatewayKey: makeApiKey('') };
    await expect(attempt(both)).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('rejects a kind that the route does not accept, without a look-up', async () => {
    const key = { gatewayKey: makeApiKey('') };
    await expect(attempt(key, ['access-token'])).rejects.toMatchObject(unauthorized);
    const basic = { authorization: `Basic ${Buffer.from('a:b').toString('base64')}` };
    await expect(attempt(basic, ['access-token', 'api-key'])).rejects.toMatchObject(unauthorized);
    const keyAsBearer = { authorization: `Bearer ${makeApiKey('')}` };
    await expect(attempt(keyAsBearer)).rejects.toMatchObject(unauthorized);
  });
});

describe('authorisation', () => {
  const caller: Principal = {
    kind: 'api-key',
    person: null,
    id: '1',
    name: 'k',
    organisationId: '2',
    tsgId: '1234567890',
    workspaceId: null,
    scopes: ['configs.list'],
  };

  it('passes a principal that holds the scope, and names the missing scope to others', () => {
    expect(() => authorise(caller, 'configs.list')).not.toThrow();
    expect(() => authorise(caller, 'configs.read')).toThrow('configs.read is missing');
  });
});
