/** Tests the command that rotates the master key: its progress, and the settings it names. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createKeyring } from '../../../src/auth/keyring.ts';
import { createMasterKeys } from '../../../src/auth/master-keys.ts';
import { readSettings } from '../../../src/settings.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { runCli } from '../commands/run-cli.ts';

const before = randomBytes(32).toString('base64');
const after = randomBytes(32).toString('base64');
const old = { GATEWRIGHT_MASTER_KEY: before };
const both = { GATEWRIGHT_MASTER_KEY: after, GATEWRIGHT_MASTER_KEY_PREVIOUS: before };
const now = { GATEWRIGHT_MASTER_KEY: after };

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
  const { masterKeys } = readSettings(old, { cwd: '/nonexistent' });
  const keyring = createKeyring(test.database, createMasterKeys(masterKeys!));
  await keyring.open();
  await keyring.sealerOf('019a0000-0000-7000-8000-000000000000');
});
afterAll(() => test[Symbol.asyncDispose]());

const run = (env: Record<string, string>, ...words: string[]) =>
  runCli(words, test.settings, { env });

it('requires the previous key, reports how many keys are left, and shows none of them', async () => {
  const without = await run(now, 'rotate-master-key');
  expect(without).toMatchObject({
    exitCode: 4,
    stderr: expect.stringContaining('GATEWRIGHT_MASTER_KEY_PREVIOUS'),
  });
  const found = await run(both, 'doctor');
  expect(found).toMatchObject({
    exitCode: 3,
    stdout: expect.stringMatching(
      /^wrong +master key +2 of 2 keys are not under it yet: run `gatewright rotate-master-key`$/m,
    ),
  });
  const left = await run(both, 'rotate-master-key', '--status');
  expect(left).toMatchObject({ exitCode: 2, stdout: expect.stringContaining('0 of 2 keys') });
  const done = await run(both, 'rotate-master-key', '-o', 'json');
  expect(done).toMatchObject({ exitCode: 0 });
  expect(JSON.parse(done.stdout)).toMatchObject({ rewrapped: 2, total: 2, sealed: 0 });
  expect(
    done.stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([
    { event: 'progress', done: 0, total: 2 },
    { event: 'progress', done: 1, total: 2 },
  ]);
  const again = await run(now, 'rotate-master-key');
  expect(again).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^nothing to do/) });
  for (const { stdout, stderr } of [without, found, left, done, again]) {
    expect(stdout + stderr).not.toContain(before);
    expect(stdout + stderr).not.toContain(after);
  }
});
