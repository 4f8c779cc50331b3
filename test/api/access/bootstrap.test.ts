/**
 * Verifies that bootstrapping a fresh database creates working credentials and stores secrets only
 * as hashes.
 */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isWellFormedApiKey } from '../../../src/model/people/credentials.ts';
import { allScopes } from '../../../src/model/people/scopes.ts';
import { Secret } from '../../../src/secret.ts';
import { bootstrapTenant, ensureAccount } from '../../../src/store/bootstrap.ts';
import * as accessPolicies from '../../../src/store/people/access-policies.ts';
import * as serviceAccounts from '../../../src/store/people/service-accounts.ts';
import * as apiKeys from '../../../src/store/resources/api-keys.ts';
import * as organisations from '../../../src/store/resources/organisations.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

let test: TestDatabase;
const hashCredential = (text: string): Buffer => createHash('sha256').update(text).digest();
const keyring = { hashCredential, pepperId: '0badcafe' };
const options = { keyring, name: 'platform', apiKeyPrefix: 'gw', now: 1_700_000_000_000 };

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test[Symbol.asyncDispose]());

describe('bootstrapTenant', () => {
  it('creates an organisation, a superuser service account and a key with every scope', async () => {
    const { db } = test.database;
    const tenant = await bootstrapTenant(test.database, options);
    expect(tenant.tsgId).toMatch(/^[1-9]\d{9}$/);
    expect(tenant.clientId).toMatch(new RegExp(`^platform@${tenant.tsgId}\\.`));
    expect(isWellFormedApiKey(tenant.organisationApiKey.reveal())).toBe(true);
    expect(tenant.organisationApiKey.reveal().startsWith('gw')).toBe(true);
    expect(await organisations.findByTsgId(db, tenant.tsgId)).toMatchObject({
      id: tenant.organisationId,
      parent_tsg_id: null,
    });
    const account = await serviceAccounts.findByClientId(db, tenant.clientId);
    expect(account?.secret_hmac).toEqual(hashCredential(tenant.clientSecret.reveal()));
    const policies = await accessPolicies.listByPrincipal(db, tenant.clientId);
    expect(policies).toMatchObject([{ role: 'superuser', resource: `prn:${tenant.tsgId}::::` }]);
    const key = await apiKeys.findByHash(
      db,
      hashCredential(tenant.organisationApiKey.reveal()),
      options.now,
    );
    expect(key).toMatchObject({ type: 'organisation-service', status: 'active' });
    expect(JSON.parse(key!.scopes)).toEqual(allScopes);
  });

  it('writes an audit row for each object that it creates', async () => {
    const tenant = await bootstrapTenant(test.database, options);
    const rows = await test.database.db
      .selectFrom('audit_log')
      .selectAll()
      .where('organisation_id', '=', tenant.organisationId)
      .execute();
    const kinds = rows.map((row) => row.resource_kind).sort();
    expect(kinds).toEqual(['AccessPolicy', 'ApiKey', 'Organisation', 'ServiceAccount', 'User']);
    expect(JSON.stringify(rows)).not.toContain(tenant.clientSecret.reveal());
  });

  it('adds an account to an existing organisation under another name, and keeps its one owner', async () => {
    const first = await bootstrapTenant(test.database, { ...options, ownerEmail: 'Ann@a.example' });
    const again = {
      ...options,
      tsgId: first.tsgId,
      name: 'second',
      ownerEmail: 'bob@b.example',
    };
    const second = await bootstrapTenant(test.database, again);
    expect(second.organisationId).toBe(first.organisationId);
    expect(second.clientId).not.toBe(first.clientId);
    const people = await test.database.db
      .selectFrom('users')
      .select(['email', 'email_key', 'role'])
      .where('organisation_id', '=', first.organisationId)
      .execute();
    expect(people).toEqual([{ email: 'Ann@a.example', email_key: 'ann@a.example', role: 'owner' }]);
  });

  it('rejects a name that is taken, and leaves no trace of the attempt', async () => {
    const { tsgId } = await bootstrapTenant(test.database, options);
    const again = bootstrapTenant(test.database, { ...options, tsgId });
    await expect(again).rejects.toThrow(/platform already.*another name/s);
    expect(await accessPolicies.listByTsg(test.database.db, tsgId)).toHaveLength(1);
  });

  it.each([
    [{ tsgId: '12345' }, /10-digit/],
    [{ name: 'Not A Label' }, /lower-case/],
    [{ name: 'a:b' }, /lower-case/],
  ])('rejects %j', async (wrong, message) => {
    await expect(bootstrapTenant(test.database, { ...options, ...wrong })).rejects.toThrow(message);
  });
});

describe('ensureAccount', () => {
  const wanted = { ...options, tsgId: '4000000001', name: 'sync' };
  const secretOf = (clientId: string) => new Secret(`derived for ${clientId}`, 'test');

  it('creates one account per organisation when called concurrently, and returns the same account to all callers', async () => {
    const all = await Promise.all(
      Array.from({ length: 20 }, () => ensureAccount(test.database, wanted, secretOf)),
    );
    expect(new Set(all.map((account) => JSON.stringify(account))).size).toBe(1);
    const { db } = test.database;
    const account = await serviceAccounts.findByClientId(db, all[0]!.clientId);
    const secret = all[0]!.clientSecret.reveal();
    expect(account?.secret_hmac).toEqual(hashCredential(secret));
    expect(await accessPolicies.listByPrincipal(db, all[0]!.clientId)).toHaveLength(1);
    expect((await organisations.findByTsgId(db, wanted.tsgId))?.id).toBe(all[0]!.organisationId);
    expect(await ensureAccount(test.database, wanted, secretOf)).toEqual(all[0]);
  });

  it('rejects a name whose account has another secret, and leaves that account unchanged', async () => {
    const tenant = await bootstrapTenant(test.database, options);
    const taken = { ...wanted, tsgId: tenant.tsgId, name: options.name };
    await expect(ensureAccount(test.database, taken, secretOf)).rejects.toThrow(/another one/);
    const account = await serviceAccounts.findByClientId(test.database.db, tenant.clientId);
    expect(account?.secret_hmac).toEqual(hashCredential(tenant.clientSecret.reveal()));
  });
});

describe('the TSG tree', () => {
  it('lists the ancestors of a TSG, the root first', async () => {
    const { db } = test.database;
    const tsgs = ['3000000001', '3000000002', '3000000003'];
    for (const [level, tsgId] of tsgs.entries()) {
      await organisations.insert(db, {
        id: `00000000-0000-4000-8000-00000000000${level}`,
        tsg_id: tsgId,
        parent_tsg_id: tsgs[level - 1] ?? null,
        name: `level ${level}`,
        api_key_max_ttl_days: null,
        created_at: 0,
      });
    }
    expect(await organisations.listAncestors(db, tsgs[2]!)).toEqual([tsgs[0], tsgs[1]]);
    expect(await organisations.listAncestors(db, tsgs[0]!)).toEqual([]);
    expect(await organisations.listAncestors(db, '9999999999')).toEqual([]);
  });
});
