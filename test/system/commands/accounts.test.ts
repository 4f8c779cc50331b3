/** Tests the commands for service accounts and child tenants: output, credentials files, exit codes. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { type CliResult, runCli } from './run-cli.ts';

let server: TestServer;
let folder: string;

beforeAll(async () => {
  server = await startTestServer();
  folder = mkdtempSync(join(tmpdir(), 'gatewright-accounts-'));
  mkdirSync(join(folder, '.gatewright'));
  const { url, tsgId, clientId, clientSecret } = server;
  const addresses = { baseUrl: `${url}/v1`, adminBaseUrl: url, authUrl: url, iamUrl: url };
  const credentials = { ...addresses, tsgId, clientId, clientSecret };
  writeFileSync(join(folder, '.gatewright/credentials.json'), JSON.stringify(credentials));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server[Symbol.asyncDispose]();
});

const account = (...words: string[]) =>
  runCli(['service-account', ...words], null, { cwd: folder });
const tsg = (...words: string[]) => runCli(['tsg', ...words], null, { cwd: folder });
const credentialsIn = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8'));

function expectSuccess({ exitCode, stdout, stderr }: CliResult): string {
  expect([exitCode, stderr]).toEqual([0, '']);
  return stdout;
}

it('creates, lists, updates, rotates, disables and deletes an account', async () => {
  const made = ['--roles', 'resource_admin,identity_admin', '--description', 'CI'];
  const created = await account('create', 'ci', ...made, '--file', 'ci.json');
  const clientId = `ci@${server.tsgId}.serviceaccount.gatewright.internal`;
  expect(expectSuccess(created)).toBe(
    `service account ${clientId}\ncredentials in ${join(folder, 'ci.json')}\n`,
  );
  expect(statSync(join(folder, 'ci.json')).mode & 0o777).toBe(0o600);
  const first = credentialsIn('ci.json');
  expect(first).toMatchObject({ clientId, tsgId: server.tsgId, adminBaseUrl: server.url });
  const listed = expectSuccess(await account('list', '--credentials', 'ci.json'));
  expect(listed).toMatch(
    /^NAME +ROLES +STATUS +WORKSPACE +ID\nci +resource_admin,identity_admin +active/,
  );
  expectSuccess(await account('update', 'ci', '--roles', 'view_only_admin'));
  const record = JSON.parse(expectSuccess(await account('get', 'ci', '-o', 'json')));
  expect(record).toMatchObject({
    roles: ['view_only_admin'],
    description: 'CI',
    client_id: clientId,
  });
  const rotated = await account('rotate', 'ci', '--overlap', '1h', '--file', '-');
  const second = JSON.parse(expectSuccess(rotated));
  expect(second.clientSecret).not.toBe(first.clientSecret);
  expect(expectSuccess(await account('disable', 'ci'))).toBe('service account ci is disabled\n');
  const refused = await runCli(['get', '--credentials', 'ci.json'], null, { cwd: folder });
  expect(refused.exitCode).toBe(6);
  expectSuccess(await account('enable', 'ci'));
  expect(expectSuccess(await account('delete', 'ci'))).toBe('service account ci is deleted\n');
  const outputs = [created, refused].map(({ stdout, stderr }) => stdout + stderr);
  for (const { clientSecret } of [first, second]) {
    expect([...outputs, listed, JSON.stringify(record)].join()).not.toContain(clientSecret);
  }
});

it('refuses what an action does not accept or lacks, and leaves no file behind', async () => {
  const cases = [
    [['create'], 'a name is missing: gatewright service-account create NAME'],
    [['create', 'ci'], '--roles is needed: view_only_admin'],
    [['create', 'ci', '--roles', 'view_only_admin'], '--file is needed'],
    [['create', 'ci', '--roles', 'superuser', '--file', 'x.json'], 'not "superuser"'],
    [['create', 'C I', '--roles', 'view_only_admin', '--file', 'x.json'], 'NAME must be 1 to 63'],
    [['delete', 'test', '--roles', 'view_only_admin'], 'delete does not accept --roles'],
    [['get', 'tset'], '"tset" does not exist: did you mean "test"?'],
    [['update', 'test'], 'give --roles or --description'],
    [['create', 'test', '--roles', 'view_only_admin', '--file', 'x.json'], 'exists already'],
  ] as const;
  for (const [words, message] of cases) {
    const { exitCode, stdout, stderr } = await account(...words);
    expect([words, stdout]).toEqual([words, '']);
    expect(stderr).toContain(message);
    expect([4, 5]).toContain(exitCode);
  }
  expect(() => statSync(join(folder, 'x.json'))).toThrow('ENOENT');
});

it('creates, lists, renames and deletes a child tenant, and accounts in it', async () => {
  const created = JSON.parse(expectSuccess(await tsg('create', 'east', '-o', 'json')));
  const { tsgId } = created;
  expect(expectSuccess(await tsg('list'))).toMatch(new RegExp(`NAME.*\neast +${tsgId} `));
  expect(expectSuccess(await tsg('rename', 'east', 'emea'))).toBe(
    `tenant ${tsgId} is renamed: emea\n`,
  );
  const inside = ['--tsg-id', tsgId];
  const roles = ['--roles', 'identity_admin', '--file', 'own.json'];
  expectSuccess(await account('create', 'own', ...inside, ...roles));
  expect(credentialsIn('own.json')).toMatchObject({ tsgId });
  const own = JSON.parse(
    expectSuccess(await account('list', '--credentials', 'own.json', '-o', 'json')),
  );
  expect(own.serviceAccounts.map(({ name }: { name: string }) => name)).toEqual(['own']);
  const refused = await tsg('delete', 'emea');
  expect([refused.exitCode, refused.stderr]).toEqual([
    4,
    expect.stringContaining('This tenant still has service accounts: delete them first'),
  ]);
  expectSuccess(await account('delete', 'own', ...inside));
  expect(expectSuccess(await tsg('delete', 'emea'))).toBe(`tenant ${tsgId} is deleted\n`);
  const words = ['audit', 'export', '--organisation', tsgId];
  const rows = expectSuccess(await runCli(words, server.settings.database, { cwd: folder }));
  const last = JSON.parse(rows.trimEnd().split('\n').at(-1)!);
  expect(last).toMatchObject({ action: 'delete', resource_type: 'Organisation' });
});
