/** Checks that a plan knows which destinations the settings permit for the value of a key. */
import { describe, expect, it } from 'vitest';
import { valueStoresIn } from '../../../../src/commands/sources/value-stores.ts';
import { readSettings } from '../../../../src/settings.ts';
import { readDesired } from '../../../../src/sync/desired/desired.ts';
import { inSupport, manifest, sourceOf, support } from '../../../support/sync/manifests.ts';

const key = (output: string): string =>
  manifest('ApiKey', 'k', `scopes: [mcp.invoke]\nsecretOutput:\n  ${output}`, inSupport);
const secret = 'kubernetesSecret: {namespace: apps, name: bot, key: api-key}';
const vault = 'vault: {mount: kv, path: apps/bot, key: api-key}';

async function faultsOf(output: string, settings: Record<string, string>): Promise<string[]> {
  const source = sourceOf({ 'a.yaml': key(output), 's.yaml': support });
  const { sources } = valueStoresIn('/', '/secrets', readSettings(settings, { cwd: '/' }));
  const { faults = [] } = await readDesired(source, sources);
  return faults.map(({ position: { file, line, column }, message, fix }) =>
    [`${file}:${line}:${column}`, message, fix].join(' | '),
  );
}

describe('a destination that the settings do not permit', () => {
  const ofVault = {
    GATEWRIGHT_VAULT_ADDRESS: 'https://vault.example:8200',
    GATEWRIGHT_VAULT_TOKEN_FILE: '/token',
  };

  it.each([
    [secret, {}, '7:35 | secretOutput.kubernetesSecret: the namespace apps is not in', 'not set'],
    [secret, { GATEWRIGHT_KUBERNETES_NAMESPACES: 'jobs' }, '7:35 | ', 'which names jobs'],
    [vault, {}, '7:30 | secretOutput.vault: no Vault is configured', 'GATEWRIGHT_VAULT_ADDRESS'],
    [vault, { ...ofVault, GATEWRIGHT_VAULT_PATHS: 'kv/ap' }, '7:30 | ', 'which names kv/ap'],
  ])('is a fault at its position: %s, %o', async (output, settings, place, reason) => {
    const [fault, ...others] = await faultsOf(output, settings);
    expect(others).toEqual([]);
    expect(fault).toContain(`a.yaml:${place}`);
    expect(fault).toContain(reason);
  });

  it.each([
    [secret, { GATEWRIGHT_KUBERNETES_NAMESPACES: 'jobs,apps' }],
    [vault, { ...ofVault, GATEWRIGHT_VAULT_PATHS: 'kv/apps' }],
    ['file: {path: bot.key}', {}],
  ])('is accepted when permitted: %s, %o', async (output, settings) => {
    expect(await faultsOf(output, settings)).toEqual([]);
  });
});
