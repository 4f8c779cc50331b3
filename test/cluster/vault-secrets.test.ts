/** Tests that fields of secrets are read from a real Vault or OpenBao, from both versions of the engine. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readFields } from '../../src/vault/any-key-value.ts';
import { startVault, unavailable, type VaultServer } from './vault-server.ts';

describe.skipIf(unavailable !== null)(`a real Vault (${unavailable ?? 'available'})`, () => {
  let vault: VaultServer;
  beforeAll(async () => {
    vault = await startVault();
    const root = vault.client();
    const post = async (path: string, body: unknown) => {
      const { status } = await root.request({ method: 'POST', path, body });
      expect(status).toBeLessThan(300);
    };
    await post('sys/mounts/plain', { type: 'kv', options: { version: '1' } });
    await post('sys/mounts/team%2Fkv', { type: 'kv', options: { version: '2' } });
    await post('plain/openai', { api_key: 'one' });
    await post('secret/data/openai', { data: { api_key: 'two' } });
    await post('team/kv/data/a%20b/openai', { data: { api_key: 'three' } });
    await post('sys/policies/acl/reader', {
      policy: 'path "team/kv/data/*" { capabilities = ["read"] }',
    });
    await post('sys/auth/approle', { type: 'approle' });
    await post('auth/approle/role/gateway', { token_policies: 'reader' });
  });
  afterAll(() => vault[Symbol.asyncDispose]());

  it.each([
    ['plain/openai', 'one'],
    ['secret/openai', 'two'],
    ['secret/data/openai', 'two'],
    ['team/kv/a b/openai', 'three'],
    ['team/kv/data/a b/openai', 'three'],
  ])('returns the fields of %s', async (path, value) => {
    expect(await readFields(vault.client(), path)).toEqual({ api_key: value });
  });

  it('returns fields to an AppRole for permitted paths only', async () => {
    const root = vault.client();
    const role = 'auth/approle/role/gateway';
    const { body: roleBody } = await root.request({ method: 'GET', path: `${role}/role-id` });
    const { body: secretBody } = await root.request({ method: 'POST', path: `${role}/secret-id` });
    const { role_id: roleId } = (roleBody as { data: { role_id: string } }).data;
    const { secret_id } = (secretBody as { data: { secret_id: string } }).data;
    const secretIdFile = vault.file('secret-id', secret_id);
    const client = vault.client({ method: 'appRole', mount: 'approle', roleId, secretIdFile });
    expect(await readFields(client, 'team/kv/a b/openai')).toEqual({ api_key: 'three' });
    await expect(readFields(client, 'secret/openai')).rejects.toThrow('403');
    await expect(readFields(root, 'plain/nothing')).rejects.toThrow('404');
  });
});
