/** Lists files that the real sops has encrypted for tests, and the test keys that decrypt them. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Secret } from '../../../src/secret.ts';
import { AgeIdentities } from '../../../src/sync/sops/age-identities.ts';

const folder = resolve(import.meta.dirname, '../../fixtures/sops');

/** The script make.sh beside the files creates them. */
export function sopsFile(name: string): string {
  return readFileSync(resolve(folder, name), 'utf8');
}

export function testKeyFile(which: '' | '-hybrid' | '-other'): string {
  return resolve(folder, `age-test-key${which}.txt`);
}

export function testIdentity(which: '' | '-hybrid' | '-other'): AgeIdentities {
  const [identity = ''] = /AGE-SECRET-KEY-\S+/.exec(readFileSync(testKeyFile(which), 'utf8')) ?? [];
  return new AgeIdentities(new Secret([identity], 'env:GATEWRIGHT_AGE_KEY'));
}

/** The secret in every file. */
export const canary = 'crm-token-canary';
