/** Tests how settings are read from files and certificates, and the output of the `settings` command. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { exitCodes } from '../../../src/commands/shared/exit-codes.ts';
import { Failure } from '../../../src/failure.ts';
import { readSettings } from '../../../src/settings.ts';
import { type Authority, createPki, type IssuedCertificate } from '../../support/callers/pki.ts';

const program = inject('builtProgram');
const database = { DB_HOST: 'db.example', DB_USER: 'u', DB_NAME: 'n' };
const pki = createPki();
let authority: Authority;
let client: IssuedCertificate;
let cwd: string;

beforeAll(() => {
  authority = pki.authority('house');
  client = authority.issue({ name: 'client' });
});
afterAll(() => pki[Symbol.dispose]());
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'gatewright-settings-'));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

function put(name: string, text: string): string {
  const path = join(cwd, name);
  writeFileSync(path, text);
  return path;
}

const read = (env: Record<string, string>) => readSettings(env, { cwd });

function faultsOf(env: Record<string, string>): string {
  try {
    read(env);
    return '';
  } catch (error) {
    expect(error).toBeInstanceOf(Failure);
    return (error as Failure).message;
  }
}

describe('.env', () => {
  it('supplies what the environment leaves unset, and is named with its line', () => {
    put('.env', '# comment\nDB_HOST=from-file\n\nexport DB_POOL_SIZE=many\nLOG_LEVEL=debug\n');
    const message = faultsOf({ ...database, DB_HOST: 'from-environment' });
    expect(message).toContain('DB_POOL_SIZE (.env:4) is "many"');
    const settings = read({ ...database, DB_POOL_SIZE: '3' });
    expect(settings).toMatchObject({ logLevel: 'debug', database: { host: 'db.example' } });
  });

  it('is overridden by an empty variable, which means unset', () => {
    put('.env', 'DB_HOST=from-file\nDB_USER=u\nDB_NAME=n\n');
    expect(read({}).database!.host).toBe('from-file');
    expect(read({ DB_HOST: '', DB_USER: '', DB_NAME: '' }).database).toBe(null);
  });

  it('reports a folder of that name', () => {
    mkdirSync(join(cwd, '.env'));
    expect(faultsOf({})).toContain('.env cannot be read: is not a file');
  });
});

describe('files', () => {
  it('reads secrets by path or under NAME_FILE, without the trailing newline', () => {
    const path = put('password', ' canary\r\n');
    const ways: Record<string, string>[] = [
      { DB_PASS: path },
      { DB_PASS: './password' },
      { DB_PASS_FILE: 'password' },
    ];
    for (const way of ways) {
      const { password } = read({ ...database, ...way }).database!;
      expect(password!.reveal()).toBe('canary');
      expect(String(password)).toBe(`(secret file:${path})`);
    }
  });

  it('reports missing, empty and too large files and folders by name', () => {
    put('empty', '\n');
    put('huge', 'x'.repeat(1024 * 1024 + 1));
    const faults = (path: string): string => faultsOf({ ...database, DB_PASS_FILE: path });
    expect(faults('./none')).toContain(
      'DB_PASS_FILE (environment) names a file that does not exist',
    );
    expect(faults('./empty')).toContain('is empty: ./empty');
    expect(faults('./huge')).toContain('is larger than 1048576 bytes');
    expect(faults('/')).toContain('is not a file: /');
  });

  it('rereads files at each refresh, and rejects an invalid one', () => {
    put('password', 'old');
    const settings = read({ ...database, DB_PASS_FILE: 'password', DB_READER_HOST: 'replica' });
    put('password', 'new');
    expect(settings.database!.refresh!().password!.reveal()).toBe('new');
    expect(settings.database!.refresh!().refresh!().host).toBe('db.example');
    expect(settings.databaseReader!.refresh!()).toMatchObject({ host: 'replica' });
    put('password', '');
    expect(() => settings.database!.refresh!()).toThrow('is empty');
    expect(read(database).database!.refresh).toBe(undefined);
  });
});

describe('certificates', () => {
  const verify = { ...database, DB_SSL: 'VERIFY_CA' };

  it('accepts a path, PEM, escaped PEM, base64 and Windows line ends', () => {
    const { cert } = authority;
    const forms = [
      authority.certPath,
      cert,
      cert.trim(),
      cert.replaceAll('\n', '\\n'),
      cert.replaceAll('\n', '\r\n'),
      Buffer.from(cert).toString('base64'),
      Buffer.from(cert).toString('base64').replaceAll(/.{76}/g, '$&\n'),
    ];
    for (const form of forms) {
      expect(read({ ...verify, DB_SSL_CA: form }).database!.tls.ca).toBe(cert);
    }
    expect(read({ ...verify, DB_SSL_CA_FILE: authority.certPath }).database!.tls.ca).toBe(cert);
  });

  it.each([
    ['rubbish', 'canary', 'expected PEM text'],
    ['a path to nothing', '/no/such.pem', 'does not exist'],
    [
      'a damaged block',
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----',
      'cannot be read',
    ],
    ['half a block', '-----BEGIN CERTIFICATE-----\nAAAA', 'no complete certificate'],
  ])('rejects certificates that are %s', (_, text, reason) => {
    expect(faultsOf({ ...verify, DB_SSL_CA: text })).toMatch(new RegExp(`DB_SSL_CA.*${reason}`));
  });

  it('rejects expired and future certificates, with subject and date', () => {
    const old = pki.authority('old', { fromDays: -20, untilDays: -10 });
    const future = pki.authority('future', { fromDays: 10 });
    expect(faultsOf({ ...verify, DB_SSL_CA: old.cert })).toMatch(
      /has expired.*CN=old authority, until/,
    );
    expect(faultsOf({ ...verify, DB_SSL_CA: future.cert })).toContain('is not valid yet');
    expect(faultsOf({ ...verify, DB_SSL_CA: old.cert + authority.cert })).toBe('');
  });

  it('warns in the last 30 days of a certificate', () => {
    const soon = pki.authority('soon', { untilDays: 10 });
    const { warnings } = read({ ...verify, DB_SSL_CA: soon.cert });
    expect(warnings).toEqual([expect.stringMatching(/^DB_SSL_CA expires in \d+ days: CN=soon/)]);
  });

  it('warns about certificates that have no effect', () => {
    const { warnings } = read({ ...database, DB_SSL: 'REQUIRED', DB_SSL_CA: authority.cert });
    expect(warnings).toEqual([
      expect.stringContaining('DB_SSL_CA is not used under DB_SSL=REQUIRED'),
    ]);
  });

  it('requires a client certificate with a matching key that has not expired', () => {
    const other = authority.issue({ name: 'other' });
    const expired = authority.issue({ name: 'gone', fromDays: -9, untilDays: -2 });
    const pair = (cert: string, key: string) => ({
      ...database,
      DB_SSL_CERT: cert,
      DB_SSL_KEY: key,
    });
    const { tls } = read(pair(client.certPath, client.key.replaceAll('\n', '\\n'))).database!;
    expect(tls.cert).toBe(client.cert);
    expect(tls.key!.reveal()).toBe(client.key);
    expect(faultsOf(pair(client.cert, other.key))).toContain(
      'DB_SSL_KEY is not the key of DB_SSL_CERT',
    );
    expect(faultsOf(pair(expired.cert, expired.key))).toContain('DB_SSL_CERT has expired');
    expect(faultsOf(pair(client.cert, client.cert))).toContain('contains no readable private key');
    expect(faultsOf({ ...database, DB_SSL_CERT: client.cert })).toContain('without DB_SSL_KEY');
    expect(faultsOf({ ...database, DB_SSL_KEY: client.key })).toContain('without DB_SSL_CERT');
  });
});

describe('the settings command', () => {
  const runWords = (env: Record<string, string>, words: readonly string[]) => {
    const child = spawnSync(process.execPath, [program, ...words], {
      cwd,
      env: { PATH: process.env.PATH, ...env },
      encoding: 'utf8',
    });
    return { code: child.status, stdout: child.stdout, stderr: child.stderr };
  };
  const run = (env: Record<string, string>, ...options: string[]) =>
    runWords(env, ['settings', ...options]);

  it('lists every setting with its value and origin', () => {
    put('.env', 'DB_NAME=n\n');
    const { code, stdout } = run({
      DB_HOST: 'db.example',
      DB_USER: 'u',
      DB_SSL_CA: authority.cert,
    });
    expect(code).toBe(exitCodes.success);
    expect(stdout).toMatch(/^ {2}DB_HOST +db\.example +environment$/m);
    expect(stdout).toMatch(/^ {2}DB_NAME +n +\.env:1$/m);
    expect(stdout).toMatch(/^ {2}DB_SSL_CA +CN=house authority, until \S+ +environment$/m);
    expect(stdout).toMatch(/^ {2}DB_POOL_SIZE +12 +default$/m);
    expect(stdout).toMatch(/^ {2}DB_SOCKET +- +unset$/m);
  });

  it('exits with 0, or with 5 and every fault, under --check', () => {
    expect(run(database, '--check')).toEqual({
      code: exitCodes.success,
      stdout: '3 settings are set, all valid\n',
      stderr: '',
    });
    const wrong = run({ ...database, DB_POOL_SIZE: '0', DB_SSL: 'x', DB_POOLSIZE: '1' }, '--check');
    expect(wrong.code).toBe(exitCodes.invalidInput);
    expect(wrong.stdout).toBe('');
    expect(wrong.stderr).toContain('2 settings are wrong:');
    expect(wrong.stderr).toContain(
      'warning: DB_POOLSIZE is not a setting: remove it (DB_POOL_SIZE is set)',
    );
    const strict = run({ ...database, DB_POOLSIZE: '1' }, '--check', '--strict-settings');
    expect(strict.code).toBe(exitCodes.invalidInput);
  });

  it.each([
    ['GATEWRIGHT_OWNER', 'team/a', ['plan']],
    ['TRUSTED_CUSTOM_HOSTS', '169.254.169.254', ['serve']],
  ])(
    'rejects %s=%s under --check with the message of the command that uses it',
    (name, text, words) => {
      const refused = run({ ...database, [name]: text }, '--check');
      const reported = runWords({ ...database, [name]: text }, words);
      expect(refused.code).toBe(exitCodes.invalidInput);
      expect(refused.stderr).toContain(`1 setting is wrong:\n  ${name} (environment) `);
      expect(reported).toEqual({ ...refused, stdout: '' });
    },
  );

  it('prints the JSON Schema and the Markdown reference from the same table', () => {
    expect(JSON.parse(run({}, '-o', 'json-schema').stdout)).toHaveProperty(
      'properties.DB_SSL_KEY_FILE',
    );
    expect(run({}, '-o', 'markdown').stdout).toContain('| `DB_POOL_SIZE` | `12` |');
    expect(run({}, '-o', 'markdown', '--check').code).toBe(exitCodes.invalidInput);
  });

  it('prints the vschema of the migrations with any settings', () => {
    const printed = run({ DB_PORT: 'wrong' }, '--vschema');
    expect(printed.code).toBe(0);
    expect(printed.stdout).toBe(readFileSync('migrations/vschema.json', 'utf8'));
    expect(run({}, '--vschema', '--check').code).toBe(exitCodes.invalidInput);
  });

  it('never prints a secret, valid or invalid, in whichever setting', () => {
    const canary = 'canary-3f9a1c';
    put('secret', canary);
    const key = Buffer.from(`${canary}${canary}${canary}`).toString('base64');
    const right = { ...database, DB_PASS: canary, GATEWRIGHT_MASTER_KEY: key };
    const wrong = {
      DB_HOST: `mysql://u:${canary}@h`,
      DB_URL: `mysql://u:${canary}@h/n?ssl=1`,
      DB_PASS_FILE: canary,
      DB_READER_PASS: `/${canary}`,
      DB_SSL_KEY: canary,
      DB_SSL_CERT: client.cert,
      GATEWRIGHT_MASTER_KEY: canary,
      PORT: `x${canary}!`,
    };
    const files = { ...database, DB_PASS_FILE: 'secret', DB_SSL_KEY: client.key };
    for (const env of [right, wrong, files] as Record<string, string>[]) {
      for (const options of [[], ['--check'], ['--check', '--strict-settings']]) {
        const { stdout, stderr } = run(env, ...options);
        expect(stdout + stderr).not.toContain(canary);
        expect(stdout + stderr).not.toContain(key);
        expect(stdout + stderr).not.toContain(client.key.split('\n')[1]);
      }
    }
  });
});
