/** Tests the valid values of each setting, its default, and the reports of faults. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import { isWellFormedApiKey, makeApiKey } from '../../../src/model/people/credentials.ts';
import {
  settingsJsonSchema,
  settingsListing,
  settingsMarkdown,
} from '../../../src/settings/describe.ts';
import { settingNames } from '../../../src/settings/variables/variables.ts';
import { inspectSettings, type ReadOptions, readSettings } from '../../../src/settings.ts';

/** Settings of signatures that require each other. */
const proposing = {
  GATEWRIGHT_PROPOSALS_REPOSITORY: 'https://git.example.com/team/gateway',
  GATEWRIGHT_PROPOSALS_TOKEN: 'token-1',
};
const verified = { GATEWRIGHT_GIT_VERIFY: 'commit', GATEWRIGHT_GIT_GPG_KEYS_FILE: '/keys.asc' };
/** A folder without `.env`. */
const nowhere = '/nonexistent';
const database = { DB_HOST: 'db.example', DB_USER: 'u', DB_NAME: 'n' };
const key = Buffer.from(Array.from({ length: 32 }, (_, at) => at));

const read = (env: Record<string, string>, options: ReadOptions = {}) =>
  readSettings(env, { cwd: nowhere, ...options });

function faultsOf(env: Record<string, string>, options: ReadOptions = {}): string {
  try {
    read(env, options);
  } catch (error) {
    expect(error).toBeInstanceOf(Failure);
    expect((error as Failure).kind).toBe('invalidInput');
    return (error as Failure).message;
  }
  return '';
}

describe('settings that are unset', () => {
  it('applies the published defaults', () => {
    expect(read({})).toMatchObject({
      database: null,
      databaseReader: null,
      databasePoolSize: 12,
      databaseStartWaitSeconds: 240,
      writerHadr: false,
      server: {
        host: '127.0.0.1',
        port: 8080,
        metricsPort: 9464,
        connectionsMax: 2000,
        lameDuckSeconds: null,
        drainSeconds: 20,
      },
      logLevel: null,
      masterKeys: null,
      apiKeyPrefix: '',
      trustedHosts: [],
      warnings: [],
    });
    expect(Object.values(read({}).features)).not.toContain(false);
  });

  it('treats empty and white-space values as unset', () => {
    const empty = Object.fromEntries(settingNames.map((name) => [name, ' ']));
    expect(read(empty)).toEqual(read({}));
  });
});

describe('switches', () => {
  it.each([
    ...['ON', 'on', 'true', 'TRUE', '1', 'yes', ' On\n'].map((text) => [text, true] as const),
    ...['OFF', 'off', 'false', '0', 'No'].map((text) => [text, false] as const),
  ])('accepts %j as %s', (text, value) => {
    expect(read({ MCP_ENABLED: text }).features.mcp).toBe(value);
  });

  it.each(['enabled', 'O', '2', 'ja'])('rejects %j', (text) => {
    expect(faultsOf({ MCP_ENABLED: text })).toContain(`MCP_ENABLED (environment) is "${text}"`);
  });

  it('turns each feature off by its own name', () => {
    const off = {
      GUARDRAILS_ENABLED: 'OFF',
      API_ACCESS_ENABLED: 'OFF',
      USAGE_LIMITS_ENABLED: 'OFF',
      AUDIT_LOGS_ENABLED: 'OFF',
      POLICY_ENABLED: 'OFF',
      MCP_ENABLED: 'OFF',
      SCIM_ENABLED: 'OFF',
      DATA_EXPORTS_ENABLED: 'OFF',
    };
    expect(Object.values(read(off).features)).not.toContain(true);
  });
});

describe('numbers', () => {
  it.each(['0', '-1', '1.5', '1e3', '0x10', 'twelve', '1001', '99999999999'])(
    'rejects %j as the pool size',
    (text) => {
      const message = faultsOf({ ...database, DB_POOL_SIZE: text });
      expect(message).toContain(
        'expected a whole number from 1 to 1000, for example DB_POOL_SIZE=12',
      );
    },
  );
});

describe('DB_SSL (1.6)', () => {
  const modeOf = (text: string) => read({ ...database, DB_SSL: text }).database!.tls.mode;

  it('is PREFERRED when unset', () => {
    expect(read(database).database!.tls.mode).toBe('PREFERRED');
  });

  it.each([
    ['disabled', 'DISABLED'],
    ['Verify-CA', 'VERIFY_CA'],
    ['verify identity', 'VERIFY_IDENTITY'],
    ['VERIFYIDENTITY', 'VERIFY_IDENTITY'],
    ['SKIP_VERIFY', 'REQUIRED'],
    ['amazon-rds', 'Amazon RDS'],
    ['Amazon RDS', 'Amazon RDS'],
  ])('accepts %j as %s', (text, mode) => {
    expect(modeOf(text)).toBe(mode);
  });

  it.each(['true', 'on', 'VERIFY', 'STRICT'])('rejects %j', (text) => {
    expect(faultsOf({ ...database, DB_SSL: text })).toContain(
      'expected one of DISABLED, PREFERRED',
    );
  });

  it.each(['127.0.0.1', '::1', '[::1]', '10.1.2.3'])(
    'rejects VERIFY_IDENTITY for the address %s, whose name the driver would not verify',
    (host) => {
      const message = faultsOf({ ...database, DB_HOST: host, DB_SSL: 'VERIFY_IDENTITY' });
      expect(message).toContain('use the DNS name that its certificate names, or DB_SSL=VERIFY_CA');
    },
  );

  it('rejects VERIFY_IDENTITY for the address of a reader and for a socket', () => {
    const mode = { DB_SSL: 'VERIFY_IDENTITY', DB_USER: 'u', DB_NAME: 'n' };
    const reader = { ...mode, DB_HOST: 'db.example', DB_READER_HOST: '10.0.0.1' };
    expect(faultsOf(reader)).toContain('cannot verify the IP address 10.0.0.1');
    expect(faultsOf({ ...mode, DB_SOCKET: '/run/sql.sock' })).toContain('over DB_SOCKET');
  });
});

describe('DB_URL', () => {
  it('contains every part, percent-decoded', () => {
    const settings = read({ DB_URL: 'mysql://u%40x:p%2Fw%23@db.example:3307/my%2Ddb' }).database!;
    expect(settings).toMatchObject({ host: 'db.example', port: 3307, user: 'u@x', name: 'my-db' });
    expect(settings.password!.reveal()).toBe('p/w#');
  });

  it('is completed by variables', () => {
    const settings = read({ DB_URL: 'mysql://db.example', DB_USER: 'u', DB_NAME: 'n' }).database!;
    expect(settings).toMatchObject({ host: 'db.example', port: 3306, user: 'u', name: 'n' });
  });

  it.each([
    ['?ssl-mode=REQUIRED', 'option "ssl-mode" which is not supported: set DB_SSL instead'],
    ['?ssl=true', 'set DB_SSL instead'],
    ['?connectionLimit=5', 'set DB_POOL_SIZE instead'],
    ['?charset=utf8', 'remove it'],
    ['#x', 'write # as %23'],
    ['%ZZ', 'write % as %25'],
    ['/deeper', '"/" in the database name'],
  ])('rejects a URL with %s', (end, text) => {
    const message = faultsOf({ DB_URL: `mysql://u:canary@db.example/n${end}` });
    expect(message).toContain(text);
    expect(message).not.toContain('canary');
  });

  it.each(['postgres://u:canary@h/n', 'u:canary@h', 'mysql:///canary', 'mysql://u:canary@h ost/n'])(
    'rejects another form without showing it',
    (url) => {
      expect(faultsOf({ DB_URL: url })).toContain('DB_URL');
      expect(faultsOf({ DB_URL: url })).not.toContain('canary');
    },
  );

  it.each<Record<string, string>>([
    { DB_URL: 'postgres://u:canary@h/n' },
    { DB_URL: 'not a url' },
    { DB_URL: 'mysql://h\u0007/n' },
    { DB_URL: '/nowhere/url' },
    { DB_URL_FILE: '/nowhere/url' },
    { DB_URL: 'mysql://h/n', DB_URL_FILE: '/nowhere/url' },
  ])('reports an unusable URL as the only fault: %j', (url) => {
    const message = faultsOf({ ...url, DB_PASS: 'p', DB_SSL: 'VERIFY_IDENTITY' });
    expect(message).toMatch(/^1 setting is wrong:\n {2}DB_URL/);
  });

  it.each([
    ['mysql://u:canary@h:99999/n', 'no usable port, which is a number from 1 to 65535'],
    ['mysql://u:canary@h:33a/n', 'no usable port'],
    ['mysql://u:ca/nary@h:3306/n', 'percent-encode / ? # of a password'],
    ['mysql://u:canary@h:0/n', 'has port 0, on which no server listens'],
    ['mysql://u:canary@h/n?socket=/run/x', 'set DB_SOCKET instead of DB_URL'],
  ])('names the one part that is wrong: %s', (url, part) => {
    const message = faultsOf({ DB_URL: url, DB_SSL: 'VERIFY_IDENTITY' });
    expect(message).toMatch(/^1 setting is wrong:\n {2}DB_URL/);
    expect(message).toContain(part);
    expect(message).not.toContain('canary');
  });

  it('accepts other settings where the URL has no user or name', () => {
    const message = faultsOf({ DB_URL: 'mysql://u@h' });
    expect(message).toMatch(/^1 setting is wrong:\n {2}DB_NAME .* write it into DB_URL/);
  });

  it('rejects variables that repeat it, in one sentence', () => {
    const url = 'mysql://u:p@db.example:1/n';
    const message = faultsOf({ DB_URL: url, DB_HOST: 'other', DB_PORT: '2', DB_PASS: 'x' });
    expect(message).toBe(
      '1 setting is wrong:\n  DB_HOST and DB_URL are both set, and DB_PORT, DB_PASS with them: keep one',
    );
    expect(faultsOf({ DB_URL: url, DB_USER: 'u', DB_NAME: 'n' })).toBe(
      '1 setting is wrong:\n  DB_USER, DB_NAME are set, and DB_URL contains them too: remove one',
    );
  });

  it('suggests no variable that is already set', () => {
    const message = faultsOf({ DB_URL: 'mysql://u:p@h/n?ssl-mode=on', DB_SSL: 'REQUIRED' });
    expect(message).toContain('remove it, DB_SSL is set');
  });
});

describe('a mistyped name', () => {
  it('is not matched to a setting that is already set', () => {
    const { warnings } = read({ ...database, DB_HOSTT: 'x' });
    expect(warnings).toEqual(['DB_HOSTT is not a setting: remove it (DB_HOST is set)']);
  });
});

describe('a setting of the wrong form', () => {
  it('causes no faults of settings that depend on it', () => {
    const { faults, settings } = inspectSettings(
      { ...database, DB_SSL: 'on', DB_READER_HOST: 'r', MYSQL_WRITER_HADR_MODE: 'x' },
      { cwd: '/nowhere' },
    );
    expect(faults.map((fault) => fault.split(' ')[0])).toEqual([
      'DB_SSL',
      'MYSQL_WRITER_HADR_MODE',
    ]);
    expect(settings.warnings).toEqual([]);
  });
});

describe('the database', () => {
  it('requires user and name once its address is set', () => {
    const message = faultsOf({ DB_HOST: 'db.example' });
    expect(message).toContain('DB_USER is required');
    expect(message).toContain('DB_NAME is required');
  });

  it('does not silently fall back to the embedded one when only the address is missing', () => {
    expect(faultsOf({ DB_USER: 'u', DB_PASS: 'p' })).toContain(
      'DB_USER, DB_PASS would have no effect: none of DB_HOST, DB_SOCKET and DB_URL',
    );
  });

  it('accepts a socket', () => {
    const settings = read({ DB_SOCKET: '/run/sql.sock', DB_USER: 'u', DB_NAME: 'n' }).database;
    expect(settings).toMatchObject({ socketPath: '/run/sql.sock', host: 'localhost' });
  });

  it('has a reader that differs only where configured', () => {
    const env = { ...database, DB_PORT: '3307', DB_PASS: 'p', DB_READER_HOST: 'replica.example' };
    const settings = read({ ...env, DB_READER_USER: 'reader', MYSQL_WRITER_HADR_MODE: 'ON' });
    expect(settings.writerHadr).toBe(true);
    expect(settings.databaseReader).toMatchObject({
      host: 'replica.example',
      port: 3307,
      user: 'reader',
      name: 'n',
    });
    expect(settings.databaseReader!.password!.reveal()).toBe('p');
  });

  it('warns about a reader that never serves as a fallback', () => {
    const env = { ...database, DB_READER_HOST: 'replica.example' };
    expect(read(env).warnings).toEqual([
      'DB_READER_HOST is not used: set MYSQL_WRITER_HADR_MODE=ON, or remove it',
    ]);
    expect(read({ ...env, MYSQL_WRITER_HADR_MODE: 'ON' }).warnings).toEqual([]);
  });

  it('reports a malformed reader once', () => {
    const reader = { DB_READER_HOST: 'http://x', DB_READER_PORT: '1', DB_READER_USER: 'u' };
    const message = faultsOf({ ...database, ...reader, MYSQL_WRITER_HADR_MODE: 'ON' });
    expect(message).toMatch(/^1 setting is wrong:\n {2}DB_READER_HOST/);
  });

  it('rejects settings of a reader and of the fallback without a reader', () => {
    const message = faultsOf({ ...database, DB_READER_PORT: '1', MYSQL_WRITER_HADR_MODE: 'ON' });
    expect(message).toContain('DB_READER_PORT would have no effect');
    expect(message).toContain('no replica is configured');
  });

  it('ignores what Kubernetes injects for a service of the same name', () => {
    const links = {
      DB_PORT: 'tcp://10.0.0.1:3306',
      DB_PORT_3306_TCP: 'tcp://10.0.0.1:3306',
      DB_PORT_3306_TCP_ADDR: '10.0.0.1',
      DB_SERVICE_HOST: '10.0.0.1',
      DB_SERVICE_PORT: '3306',
      GATEWRIGHT_PORT: 'tcp://10.0.0.2:8080',
      GATEWRIGHT_SERVICE_PORT_HTTP: '8080',
      GATEWRIGHT_METRICS_PORT: 'tcp://10.0.0.3:9464',
    };
    const settings = read({ ...database, ...links }, { strict: true });
    expect(settings.database!.port).toBe(3306);
    expect(settings.server.metricsPort).toBe(9464);
  });
});

describe('the master key', () => {
  const [one, two] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];

  it('accepts a previous master key, which must differ', () => {
    const keys = read({ GATEWRIGHT_MASTER_KEY: one, GATEWRIGHT_MASTER_KEY_PREVIOUS: two });
    expect(keys.masterKeys?.previous.map((key) => key.reveal().toString('base64'))).toEqual([two]);
    expect(read({ GATEWRIGHT_MASTER_KEY: one }).masterKeys?.previous).toEqual([]);
    expect(faultsOf({ GATEWRIGHT_MASTER_KEY: one, GATEWRIGHT_MASTER_KEY_PREVIOUS: one })).toContain(
      'is the same key as GATEWRIGHT_MASTER_KEY',
    );
    expect(faultsOf({ GATEWRIGHT_MASTER_KEY_PREVIOUS: one })).toContain(
      'is not: where there is one',
    );
  });

  it('is read again from its file', () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), 'gatewright-'));
    const file = join(folder.path, 'master-key');
    writeFileSync(file, one);
    const { masterKeys } = read({ GATEWRIGHT_MASTER_KEY_FILE: file });
    writeFileSync(file, two);
    expect(masterKeys?.refresh().current.reveal().toString('base64')).toBe(two);
    writeFileSync(file, 'half');
    expect(() => masterKeys?.refresh()).toThrow('GATEWRIGHT_MASTER_KEY');
  });

  it.each([key.toString('base64'), key.toString('hex'), key.toString('base64url')])(
    'is decoded as base64 or hex: %s',
    (text) => {
      expect(read({ GATEWRIGHT_MASTER_KEY: text }).masterKeys!.current.reveal()).toEqual(key);
    },
  );

  it('accepts a key that begins with a slash, as base64 may', () => {
    const slashed = Buffer.concat([Buffer.from([0xff]), key]);
    expect(slashed.toString('base64')).toMatch(/^\//);
    const settings = read({ GATEWRIGHT_MASTER_KEY: slashed.toString('base64') });
    expect(settings.masterKeys!.current.reveal()).toEqual(slashed);
  });

  it.each([
    ['short', Buffer.alloc(31, 'canary').toString('base64')],
    ['one byte repeated', Buffer.alloc(32, 7).toString('hex')],
    ['zeros', Buffer.alloc(64).toString('base64')],
    ['a password', 'canary-canary-canary-canary-canary!'],
  ])('rejects a key that is %s, without showing it', (_, text) => {
    const message = faultsOf({ GATEWRIGHT_MASTER_KEY: text });
    expect(message).toContain('base64 or hex of at least 32 random bytes');
    expect(message).not.toContain(text);
  });
});

describe('faults', () => {
  it('reports all faults at once, each with name, origin, form and an example', () => {
    const message = faultsOf({
      ...database,
      DB_PORT: '70000',
      LOG_LEVEL: 'loud',
      API_KEY_PREFIX: 'no-dash',
      HEADERS_TO_METADATA: 'x y',
    });
    expect(message.split('\n')).toEqual([
      '4 settings are wrong:',
      '  DB_PORT (environment) is "70000": expected a whole number from 1 to 65535, for example DB_PORT=3306',
      '  API_KEY_PREFIX (environment) is "no-dash": expected 1 to 32 letters and digits, for example API_KEY_PREFIX=acme',
      '  HEADERS_TO_METADATA (environment) is "x y": expected names of request headers separated by commas, for example HEADERS_TO_METADATA=x-team,x-app',
      '  LOG_LEVEL (environment) is "loud": expected one of fatal, error, warn, info, debug, trace, silent, for example LOG_LEVEL=debug',
    ]);
  });

  it('never repeats a possible secret in the wrong setting', () => {
    const message = faultsOf({ DB_HOST: 'mysql://u:canary@h', DB_USER: 'u', DB_NAME: 'n' });
    expect(message).toContain('DB_HOST (environment) is a text of 18 characters (not shown)');
  });

  it('rejects a missing file path where a secret is possible, without showing the path', () => {
    const message = faultsOf({ ...database, DB_PASS: '/canary' });
    expect(message).toContain('set DB_PASS_FILE');
    expect(message).not.toContain('canary');
  });

  it('rejects a setting given twice', () => {
    const message = faultsOf({ ...database, DB_PASS: 'a', DB_PASS_FILE: '/b' });
    expect(message).toContain('DB_PASS (environment) and DB_PASS_FILE (environment) are both set');
  });

  it('never shows any part of a random secret', () => {
    const secrets = ['DB_PASS', 'DB_READER_PASS', 'DB_URL', 'DB_SSL_KEY', 'GATEWRIGHT_MASTER_KEY'];
    const canary = fc.stringMatching(/^[ -~]{12,60}$/).filter((text) => text.trim().length >= 12);
    fc.assert(
      fc.property(canary, (text) => {
        const env = Object.fromEntries(secrets.map((name) => [name, text]));
        const { faults, given, settings } = inspectSettings(env, { cwd: nowhere });
        const displayed = [...faults, ...settings.warnings, settingsListing(given)].join('\n');
        expect(displayed).not.toContain(text.trim());
        expect(JSON.stringify(settings)).not.toContain(JSON.stringify(text.trim()).slice(1, -1));
      }),
    );
  });
});

describe('the prefix of API keys', () => {
  it('accepts a prefix up to the length that is recognised in keys', () => {
    const longest = read({ API_KEY_PREFIX: 'a'.repeat(32) }).apiKeyPrefix;
    expect(isWellFormedApiKey(makeApiKey(longest))).toBe(true);
    expect(isWellFormedApiKey(makeApiKey(`${longest}a`))).toBe(false);
    expect(faultsOf({ API_KEY_PREFIX: `${longest}a` })).toContain('1 to 32 letters and digits');
  });
});

describe('trusted hosts', () => {
  it.each([
    ['*.svc.cluster.local', ['*.svc.cluster.local']],
    [' CRM.internal:8443 , 10.0.0.0/8 ', ['crm.internal:8443', '10.0.0.0/8']],
    ['10.1.2.3:8000,192.168.0.0/16:80', ['10.1.2.3:8000', '192.168.0.0/16:80']],
    ['fd00::/8,[fd00::1]:443,[::1],::1', ['fd00::/8', '[fd00::1]:443', '[::1]', '::1']],
    ['localhost,host_1.x', ['localhost', 'host_1.x']],
  ])('accepts %j', (text, hosts) => {
    const { trustedHosts } = read({ TRUSTED_CUSTOM_HOSTS: text });
    expect(trustedHosts.map((entry) => entry.text)).toEqual(hosts);
  });

  it.each([
    '*',
    '*.',
    'a.*',
    '*a.example',
    'http://crm.internal',
    'crm.internal/mcp',
    'a b',
    'a,,b',
    '10.0.0.0/33',
    '10.0.0/8',
    '10.1',
    '0x7f.1',
    'fd00::/129',
    '[10.0.0.1]',
    '[fd00::1',
    'crm:0',
    'crm:65536',
    'crm:',
    'crm.internal/8',
    '-a.example',
    'user@crm',
    'bücher.example',
    'fe80::1%eth0',
  ])('rejects %j, naming the form', (text) => {
    const message = faultsOf({ TRUSTED_CUSTOM_HOSTS: text });
    expect(message).toContain('TRUSTED_CUSTOM_HOSTS (environment) is');
    expect(message).toContain('expected hosts separated by commas');
  });

  it('rejects hosts of a cloud metadata service, and names them', () => {
    const text = '10.0.0.0/8, 169.254.169.254, metadata:80';
    expect(faultsOf({ TRUSTED_CUSTOM_HOSTS: text })).toContain(
      'TRUSTED_CUSTOM_HOSTS (environment) lists 169.254.169.254, metadata:80: cloud metadata ' +
        'services hand out credentials and can never be trusted. Remove what is listed',
    );
  });
});

describe('the owner', () => {
  it.each(['team-a', 'A.b_c-9', 'a'.repeat(253)])('accepts %j', (text) => {
    expect(read({ GATEWRIGHT_OWNER: text }).sync.owner).toBe(text);
  });

  it.each(['team/a', 'a:b', '-a', 'a b', 'a'.repeat(254)])('rejects %j', (text) => {
    expect(faultsOf({ GATEWRIGHT_OWNER: text })).toContain(
      'expected 1 to 253 letters, digits, ".", "_" or "-", beginning with a letter or digit',
    );
  });
});

describe('names', () => {
  it.each([
    ['DB_POOLSIZE', 'DB_POOL_SIZE'],
    ['DB_PASSS', 'DB_PASS'],
    ['DB_PASSWORD', 'DB_PASS'],
    ['DB_USERNAME', 'DB_USER'],
    ['DB_SSL_MODE', 'DB_SSL'],
    ['GUARDRAIL_ENABLED', 'GUARDRAILS_ENABLED'],
    ['AUDIT_LOGS_ENABELD', 'AUDIT_LOGS_ENABLED'],
    ['GATEWRIGHT_LOGLEVEL', 'GATEWRIGHT_LOG_LEVEL'],
    ['gatewright_home', 'GATEWRIGHT_HOME'],
    ['MYSQL_WRITER_HADRMODE', 'MYSQL_WRITER_HADR_MODE'],
    ['DB_SSL_KEYFILE', 'DB_SSL_KEY_FILE'],
  ])('reports %s as a misspelling of %s: a warning, and an error in strict mode', (slip, name) => {
    const warning = `${slip} is not a setting: did you mean ${name}?`;
    expect(read({ [slip]: 'x' }).warnings).toEqual([warning]);
    expect(faultsOf({ [slip]: 'x' }, { strict: true })).toContain(warning);
    expect(faultsOf({ [slip]: 'x', GATEWRIGHT_STRICT_SETTINGS: 'on' })).toContain(warning);
  });

  it('reports unknown names with our prefixes even when no setting is similar', () => {
    expect(read({ GATEWRIGHT_TURBO: '1' }).warnings[0]).toContain(
      'GATEWRIGHT_TURBO is not a setting',
    );
  });

  it('ignores names of other programs', () => {
    const others = {
      PATH: '/bin',
      HOME: '/root',
      TERM: 'x',
      HTTP_PROXY: 'http://p',
      AWS_REGION: 'x',
    };
    expect(
      read({ ...others, OTEL_SERVICE_NAME: 'x', NODE_OPTIONS: 'x', PORTS: '1' }).warnings,
    ).toEqual([]);
  });

  it('lists names without effect in one warning, also when strict', () => {
    const env = { REDIS_URL: 'x', CACHE_STORE: 'redis', CLICKHOUSE_HOST: 'x', AUTH_MODE: 'SSO' };
    expect(read(env, { strict: true }).warnings).toEqual([
      'without effect in this version: AUTH_MODE, CACHE_STORE, CLICKHOUSE_HOST, REDIS_URL',
    ]);
  });
});

describe('a setting whose feature does not exist yet', () => {
  it('reports it to its user with the form checked, without a fault even in strict mode', () => {
    const env = { DISABLE_ORG_CREATION: 'off', HEADERS_TO_METADATA: 'x-a', REDIS_URL: 'x' };
    expect(read(env, { strict: true }).warnings).toEqual([
      'without effect in this version: DISABLE_ORG_CREATION, HEADERS_TO_METADATA, REDIS_URL',
    ]);
    expect(faultsOf({ HEADERS_TO_METADATA: '(' })).toContain('HEADERS_TO_METADATA');
  });

  it('is marked in the listing and in the reference', () => {
    expect(settingsListing(new Map())).toMatch(
      /DISABLE_ORG_CREATION +OFF +default \(no effect yet\)$/m,
    );
    expect(settingsMarkdown()).toMatch(/^\| `DISABLE_ORG_CREATION` .*\*\*No effect yet\.\*\*/m);
    expect(JSON.stringify(settingsJsonSchema())).toContain(
      'No effect yet. ON: no new organisations.',
    );
  });
});

const mailing = {
  SMTP_HOST: 'smtp.example.com',
  SMTP_FROM: 'a@example.com',
  SMTP_PASSWORD: 'x',
  SMTP_USER: 'u',
};

const podRole = { AWS_ROLE_ARN: 'arn:aws:iam::1:role/r', AWS_WEB_IDENTITY_TOKEN_FILE: '/token' };

const bucketed = {
  GATEWRIGHT_BLOB_S3_BUCKET: 'files',
  GATEWRIGHT_BLOB_S3_ACCESS_KEY_ID: 'id',
  GATEWRIGHT_BLOB_S3_SECRET_ACCESS_KEY: 'canary-secret',
  GATEWRIGHT_BLOB_STORE: 's3',
};

describe('the storage of files', () => {
  it('selects the database by default, the only configured storage, or the named one of several', () => {
    const { GATEWRIGHT_BLOB_STORE: _, ...bucket } = bucketed;
    const folder = { GATEWRIGHT_BLOB_DIR: '/blobs' };
    expect(read({}).blobs).toMatchObject({ writesTo: 'database', directory: null, s3: null });
    expect(read(folder).blobs).toMatchObject({ writesTo: 'directory', directory: '/blobs' });
    expect(read(bucket).blobs).toMatchObject({
      writesTo: 's3',
      s3: { endpoint: new URL('https://s3.us-east-1.amazonaws.com'), bucket: 'files', prefix: '' },
    });
    const both = { ...folder, ...bucket };
    expect(faultsOf(both)).toContain('choose the storage of new files with GATEWRIGHT_BLOB_STORE');
    expect(read({ ...both, GATEWRIGHT_BLOB_STORE: 'database' }).blobs.writesTo).toBe('database');
  });

  it('signs with a key, else with the identity that the cluster gives the pod', () => {
    const bucket = { GATEWRIGHT_BLOB_S3_BUCKET: 'files', GATEWRIGHT_BLOB_S3_REGION: 'eu-west-1' };
    const agent = { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.23/v1/credentials' };
    const credentials = (more: object) => read({ ...bucket, ...more }).blobs.s3?.credentials;
    expect(credentials(agent)).toMatchObject({
      kind: 'container',
      address: new URL(agent.AWS_CONTAINER_CREDENTIALS_FULL_URI),
      tokenFile: null,
    });
    expect(credentials({ ...agent, ...podRole })).toMatchObject({
      kind: 'webIdentity',
      sts: new URL('https://sts.eu-west-1.amazonaws.com'),
      roleArn: 'arn:aws:iam::1:role/r',
      tokenFile: '/token',
    });
    const keyed = { ...bucketed, GATEWRIGHT_BLOB_S3_SESSION_TOKEN: 'canary' };
    expect(credentials({ ...agent, ...podRole, ...keyed })).toMatchObject({ kind: 'key' });
    expect(read({ ...agent, ...podRole }).blobs.s3).toBeNull();
  });

  it('reports what is missing in an incomplete group of settings', () => {
    const { GATEWRIGHT_BLOB_S3_SECRET_ACCESS_KEY: _, ...half } = bucketed;
    expect(faultsOf(half)).toContain('GATEWRIGHT_BLOB_S3_SECRET_ACCESS_KEY is not: set both');
    expect(faultsOf({ ...half, AWS_ROLE_ARN: 'r' })).toContain('set both');
    const keyless = { GATEWRIGHT_BLOB_S3_BUCKET: 'files' };
    expect(faultsOf(keyless)).toContain('AWS_CONTAINER_CREDENTIALS_FULL_URI');
    expect(faultsOf({ ...keyless, AWS_ROLE_ARN: 'r' })).toContain(
      'AWS_WEB_IDENTITY_TOKEN_FILE is not',
    );
    const sts = { ...keyless, GATEWRIGHT_BLOB_S3_STS_ENDPOINT: 'https://sts.example.com' };
    expect(faultsOf(sts)).toContain('no role is');
    const { GATEWRIGHT_BLOB_S3_BUCKET: __, ...idle } = bucketed;
    expect(faultsOf(idle)).toContain('set GATEWRIGHT_BLOB_S3_BUCKET');
    expect(faultsOf(idle)).not.toContain('canary');
    expect(faultsOf({ GATEWRIGHT_BLOB_STORE: 'directory' })).toContain('set GATEWRIGHT_BLOB_DIR');
  });
});

function clientKeyOf(kind: 'ec' | 'x25519'): string {
  const pair =
    kind === 'ec' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync(kind);
  return JSON.stringify({ keys: [pair.privateKey.export({ format: 'jwk' })] });
}

const signingIn = {
  GATEWRIGHT_SIGN_IN_ISSUER: 'https://login.example.com',
  GATEWRIGHT_SIGN_IN_CLIENT_ID: 'gatewright',
  GATEWRIGHT_SIGN_IN_CLIENT_SECRET: 'canary',
  GATEWRIGHT_PUBLIC_URL: 'https://gateway.example.com',
  GATEWRIGHT_SIGN_IN_TSG_ID: '1234567890',
  GATEWRIGHT_SIGN_IN_ROLE_CLAIM: 'groups',
  GATEWRIGHT_SIGN_IN_ROLES: 'platform=admin,everyone=member',
};

describe('signing in', () => {
  it('is off by default, and has the configured values', () => {
    expect(read({}).signIn).toBeNull();
    const { signIn } = read(signingIn);
    expect(signIn).toMatchObject({
      clientId: 'gatewright',
      tsgId: '1234567890',
      provisions: false,
      scopes: 'openid email profile',
    });
    expect(signIn?.roles?.byValue.get('platform')).toBe('admin');
  });

  it('has sessions without an identity provider, at a public address or on this machine', () => {
    const lifetimes = { sessionMs: 43_200_000, idleMs: 3_600_000 };
    expect(read({}).sessions).toEqual({ publicUrl: null, ...lifetimes });
    const own = read({
      GATEWRIGHT_PUBLIC_URL: 'https://gateway.example.com',
      GATEWRIGHT_SESSION_HOURS: '1',
      GATEWRIGHT_SESSION_IDLE_MINUTES: '5',
    });
    const publicUrl = new URL('https://gateway.example.com');
    expect(own.sessions).toEqual({ publicUrl, sessionMs: 3_600_000, idleMs: 300_000 });
    expect(own.signIn).toBeNull();
  });

  it('leaves the console to the command unless it is set', () => {
    expect(read({}).server.console).toBeNull();
    expect(read({ GATEWRIGHT_CONSOLE_ENABLED: 'ON' }).server.console).toBe(true);
    expect(read({ GATEWRIGHT_CONSOLE_ENABLED: 'OFF' }).server.console).toBe(false);
  });

  it.each([
    ['without a required setting', { GATEWRIGHT_PUBLIC_URL: undefined }, /set both or none/],
    ['with roles and no claim', { GATEWRIGHT_SIGN_IN_ROLE_CLAIM: undefined }, /set both or none/],
    [
      'with plain HTTP',
      { GATEWRIGHT_SIGN_IN_ISSUER: 'http://login.example.com' },
      /GATEWRIGHT_SIGN_IN_ISSUER must begin with https:\/\/, or TRUSTED_CUSTOM_HOSTS must list/,
    ],
    ['with a plain public URL', { GATEWRIGHT_PUBLIC_URL: 'http://example.com' }, /https/],
    [
      'with a path in the public URL',
      { GATEWRIGHT_PUBLIC_URL: 'https://example.com/gateway' },
      /no path/,
    ],
    [
      'with a missing key file',
      {
        GATEWRIGHT_SIGN_IN_AUTH_METHOD: 'private_key_jwt',
        GATEWRIGHT_SIGN_IN_CLIENT_SECRET: undefined,
      },
      /needs GATEWRIGHT_SIGN_IN_CLIENT_JWKS/,
    ],
    [
      'with both a key and a secret',
      {
        GATEWRIGHT_SIGN_IN_AUTH_METHOD: 'private_key_jwt',
        GATEWRIGHT_SIGN_IN_CLIENT_JWKS: clientKeyOf('ec'),
      },
      /GATEWRIGHT_SIGN_IN_CLIENT_SECRET is for GATEWRIGHT_SIGN_IN_AUTH_METHOD=client_secret_post/,
    ],
    [
      'with a key that is not used',
      { GATEWRIGHT_SIGN_IN_CLIENT_JWKS: clientKeyOf('ec') },
      /GATEWRIGHT_SIGN_IN_CLIENT_JWKS is for GATEWRIGHT_SIGN_IN_AUTH_METHOD=private_key_jwt/,
    ],
    [
      'with a public key',
      { GATEWRIGHT_SIGN_IN_CLIENT_JWKS: '{"keys":[{"kty":"EC","crv":"P-256","x":"a","y":"b"}]}' },
      /expected a JSON Web Key Set/,
    ],
    [
      'with an unsupported kind of key',
      { GATEWRIGHT_SIGN_IN_CLIENT_JWKS: clientKeyOf('x25519') },
      /expected a JSON Web Key Set/,
    ],
    [
      'without an organisation',
      { GATEWRIGHT_SIGN_IN_TSG_ID: undefined, GATEWRIGHT_SIGN_IN_PROVISION: 'ON' },
      /without GATEWRIGHT_SIGN_IN_TSG_ID/,
    ],
  ] as const)('is rejected %s', (_, changes, message) => {
    const given = Object.entries<string | undefined>({ ...signingIn, ...changes });
    const set = given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
    expect(() => read(Object.fromEntries(set))).toThrow(message);
  });
});

describe('the reference', () => {
  it('names every setting in Markdown and in the JSON Schema', () => {
    const schema = settingsJsonSchema() as { properties: Record<string, Record<string, unknown>> };
    for (const name of settingNames) {
      expect(settingsMarkdown()).toContain(`| \`${name}\` |`);
      expect(schema.properties[name]).toMatchObject({ type: 'string' });
      expect(schema.properties[name]!.description).toBeTruthy();
    }
    expect(schema.properties.DB_POOL_SIZE).toMatchObject({ default: '12' });
    expect(schema.properties.DB_PASS).toMatchObject({ writeOnly: true });
    expect(schema.properties).toHaveProperty('DB_PASS_FILE');
  });

  it('shows a valid example for each setting', () => {
    const schema = settingsJsonSchema() as { properties: Record<string, { examples?: string[] }> };
    for (const name of settingNames) {
      const [example] = schema.properties[name]!.examples!;
      // The settings of databases and of the link need others that are valid too.
      if (example!.startsWith('/run/') || /^(?:DB_|GATEWRIGHT_LINK_|GATEWRIGHT_REGION)/.test(name))
        continue;
      const rest = {
        ...(name.startsWith('GATEWRIGHT_GIT_') ? verified : {}),
        ...(name.startsWith('GATEWRIGHT_VAULT_') ? vaultOf(name) : {}),
        ...(name.startsWith('GATEWRIGHT_PROPOSALS_') ? proposing : {}),
        ...(name.startsWith('SMTP_') || /SMTP_TLS|ALERT_EMAILS/.test(name) ? mailing : {}),
        ...(/SNAPSHOT_(?:MAX|BUCKET)/.test(name)
          ? { GATEWRIGHT_SNAPSHOT_DIRECTORY: '/var/tmp' }
          : {}),
        ...(/BLOB_|SNAPSHOT_BUCKET/.test(name) ? { ...bucketed, ...podRole } : {}),
        ...(/JWT_|AUTHORIZATION_SERVERS/.test(name) ? tokenIssuing : {}),
        ...(/SIGN_IN|PUBLIC_URL|SESSION_/.test(name) ? signingIn : {}),
        ...outside,
      };
      expect(() => read({ ...rest, [name]: example! }, { strict: true })).not.toThrow();
    }
  });
});

/** Settings that complete those of tokens. */
const tokenIssuing = {
  GATEWRIGHT_JWT_JWKS_URIS: 'https://login.example.com/k',
  GATEWRIGHT_MCP_URL: 'https://mcp.example.com',
};

/** Settings that complete the given setting of Vault. */
function vaultOf(name: string): Record<string, string> {
  const address = { GATEWRIGHT_VAULT_ADDRESS: 'https://v.example', GATEWRIGHT_VAULT_PATHS: 'a/b' };
  if (name.includes('KUBERNETES')) return { ...address, GATEWRIGHT_VAULT_KUBERNETES_ROLE: 'r' };
  const isAppRole = /ROLE_ID|SECRET_ID/.test(name);
  return isAppRole
    ? { ...address, GATEWRIGHT_VAULT_ROLE_ID: 'r', GATEWRIGHT_VAULT_SECRET_ID_FILE: '/s' }
    : { ...address, GATEWRIGHT_VAULT_TOKEN_FILE: '/t' };
}

describe('settings of a Vault', () => {
  it('reports what is missing in an incomplete group of settings', () => {
    expect(read({}).sync.vault).toBeNull();
    expect(read(vaultOf('TOKEN')).sync.vault).toMatchObject({
      paths: [{ mount: 'a', path: 'b' }],
      login: { method: 'token', tokenFile: '/t' },
    });
    expect(read(vaultOf('KUBERNETES')).sync.vault?.login).toEqual({
      method: 'kubernetes',
      mount: 'kubernetes',
      role: 'r',
      tokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token',
    });
    expect(read(vaultOf('ROLE_ID')).sync.vault?.login).toEqual({
      method: 'appRole',
      mount: 'approle',
      roleId: 'r',
      secretIdFile: '/s',
    });
    const { GATEWRIGHT_VAULT_TOKEN_FILE: _, ...unsigned } = vaultOf('TOKEN');
    expect(faultsOf(unsigned)).toContain('no way to sign in: set GATEWRIGHT_VAULT_TOKEN_FILE or');
    const { GATEWRIGHT_VAULT_PATHS: __, ...unpermitted } = vaultOf('TOKEN');
    expect(faultsOf(unpermitted)).toContain('no path is granted: set GATEWRIGHT_VAULT_PATHS');
    expect(faultsOf({ ...vaultOf('TOKEN'), ...vaultOf('ROLE_ID') })).toContain('set only one');
    expect(faultsOf({ GATEWRIGHT_VAULT_PATHS: 'a' })).toContain('set GATEWRIGHT_VAULT_ADDRESS');
    const { GATEWRIGHT_VAULT_SECRET_ID_FILE: ___, ...half } = vaultOf('ROLE_ID');
    expect(faultsOf(half)).toContain('go together: set both');
  });

  it.each([
    ['credentials', 'https://me:canary@v.example'],
    ['a query', 'https://v.example?token=canary'],
    ['another protocol', 'ftp://v.example'],
  ])('rejects an address with %s', (_, address) => {
    const reported = faultsOf({ ...vaultOf('TOKEN'), GATEWRIGHT_VAULT_ADDRESS: address });
    expect(reported).toContain('GATEWRIGHT_VAULT_ADDRESS');
    expect(reported).not.toContain('canary');
  });
});

/** Settings that enable commit statuses and notifications. */
const outside = {
  GATEWRIGHT_COMMIT_STATUS_TOKEN: 'token-4c1d',
  GATEWRIGHT_NOTIFY_URL: 'https://hooks.example.com/secret-path',
};

describe('settings of commit statuses and notifications', () => {
  it('treats tokens and addresses as secrets, and leaves the features off when unset', () => {
    expect(read({}).sync.commitStatus).toBeUndefined();
    expect(read({}).sync.notification).toBeUndefined();
    const { commitStatus, notification } = read(outside).sync;
    expect(commitStatus!.token.reveal()).toBe('token-4c1d');
    expect(notification!.form).toBe('json');
    expect(JSON.stringify([commitStatus, notification])).not.toMatch(/4c1d|secret-path/);
  });

  it('rejects a setting that needs another, and a signature that Slack cannot verify', () => {
    expect(faultsOf({ GATEWRIGHT_COMMIT_STATUS_FORM: 'gitea' })).toContain(
      'GATEWRIGHT_COMMIT_STATUS_FORM is set, but has no effect without GATEWRIGHT_COMMIT_STATUS_TOKEN',
    );
    expect(faultsOf({ GATEWRIGHT_NOTIFY_SECRET: 'a-secret-of-enough-length' })).toContain(
      'GATEWRIGHT_NOTIFY_SECRET is set, but has no effect without GATEWRIGHT_NOTIFY_URL',
    );
    const signed = { GATEWRIGHT_NOTIFY_SECRET: 'a-secret-of-enough-length' };
    expect(faultsOf({ ...outside, ...signed, GATEWRIGHT_NOTIFY_FORM: 'Slack' })).toContain(
      'GATEWRIGHT_NOTIFY_FORM=slack signs nothing',
    );
    expect(
      faultsOf({ ...outside, GATEWRIGHT_COMMIT_STATUS_TOKEN: 'two words 4c1d' }),
    ).not.toContain('4c1d');
  });
});

describe('signatures of a Git source', () => {
  it('requires the permitted keys for verification, and verification for the keys', () => {
    expect(read({}).sync.git.signatures).toBeUndefined();
    expect(read({ ...verified, GATEWRIGHT_GIT_VERIFY: 'Tag' }).sync.git.signatures).toMatchObject({
      on: 'tag',
      gpgKeysFile: '/keys.asc',
    });
    expect(faultsOf({ GATEWRIGHT_GIT_VERIFY: 'tag' })).toContain(
      'no key is permitted: set GATEWRIGHT_GIT_GPG_KEYS_FILE or GATEWRIGHT_GIT_ALLOWED_SIGNERS_FILE',
    );
    expect(faultsOf({ GATEWRIGHT_GIT_ALLOWED_SIGNERS_FILE: '/keys' })).toContain(
      'GATEWRIGHT_GIT_ALLOWED_SIGNERS_FILE is set, but nothing is verified',
    );
    expect(faultsOf({ ...verified, GATEWRIGHT_GIT_VERIFY: 'off' })).toContain(
      'expected one of commit, tag, tag-and-commit',
    );
  });
});

describe('settings of JWTs', () => {
  const uris = 'https://login.example.com/keys, 1234567890=http://keys.internal/jwks?v=1';

  it('names where keys are published, and the organisation', () => {
    const trusted = { TRUSTED_CUSTOM_HOSTS: 'keys.internal' };
    const { tokens } = read({ GATEWRIGHT_JWT_JWKS_URIS: uris, ...trusted }).inference;
    expect(tokens).toMatchObject({
      keySets: [
        { url: 'https://login.example.com/keys', tsgId: null },
        { url: 'http://keys.internal/jwks?v=1', tsgId: '1234567890' },
      ],
      issuer: null,
      audience: null,
      clockToleranceSeconds: 5,
      defaultScopes: [],
    });
    expect(
      read({ GATEWRIGHT_JWT_JWKS_URIS: uris, ...trusted, JWT_ENABLED: 'OFF' }).inference.tokens,
    ).toBeNull();
    expect(read({}).inference.tokens).toBeNull();
  });

  it('rejects keys over plain HTTP unless the host and its port are trusted', () => {
    const plain = { GATEWRIGHT_JWT_JWKS_URIS: 'http://keys.internal:81/jwks' };
    const fault =
      'http://keys.internal:81/jwks must begin with https://, or TRUSTED_CUSTOM_HOSTS must list';
    expect(faultsOf(plain)).toContain(fault);
    for (const listed of ['other.internal', 'keys.internal:82']) {
      expect(faultsOf({ ...plain, TRUSTED_CUSTOM_HOSTS: listed })).toContain(fault);
    }
    expect(faultsOf({ ...plain, TRUSTED_CUSTOM_HOSTS: '*.internal' })).toBe('');
    expect(
      faultsOf({
        ...signingIn,
        GATEWRIGHT_SIGN_IN_ISSUER: 'http://login.internal',
        TRUSTED_CUSTOM_HOSTS: 'login.internal',
      }),
    ).toBe('');
  });

  it('rejects settings that need a key address when none is set', () => {
    for (const [name, value] of [
      ['JWT_ENABLED', 'ON'],
      ['GATEWRIGHT_JWT_AUDIENCE', 'gatewright'],
      ['JWT_LOCAL_AUTH_DEFAULT_SCOPES', 'completions.write'],
    ] as const) {
      expect(faultsOf({ [name]: value })).toContain(`${name} is set, but has no effect without`);
    }
    for (const wrong of [
      '',
      'login.example.com',
      'https://u:p@x.example/k',
      '12=https://x.example',
      'ftp://x',
    ]) {
      expect(faultsOf({ GATEWRIGHT_JWT_JWKS_URIS: `https://a.example,${wrong}` })).toContain(
        'GATEWRIGHT_JWT_JWKS_URIS',
      );
    }
  });
});

describe('settings of mail', () => {
  const whole = { SMTP_HOST: 'smtp.internal', SMTP_FROM: 'Gateway <gw@example.com>' };

  it('selects the port that belongs to TLS, and sends nothing in the clear', () => {
    expect(read(whole).alerts).toEqual({
      mail: {
        host: 'smtp.internal',
        port: 587,
        tls: 'starttls',
        user: null,
        from: 'Gateway <gw@example.com>',
      },
      recipients: [],
    });
    const implicit = read({
      ...whole,
      GATEWRIGHT_SMTP_TLS: 'implicit',
      SMTP_USER: 'u',
      SMTP_PASSWORD: 'p',
    });
    expect(implicit.alerts.mail).toMatchObject({ port: 465, user: 'u' });
    expect(String(implicit.alerts.mail?.password)).not.toContain('p@');
    expect(read({ ...whole, SMTP_MAIL: 'OFF' }).alerts.mail).toBeNull();
    const open = { ...whole, SMTP_USER: 'u', SMTP_PASSWORD: 'p', GATEWRIGHT_SMTP_TLS: 'none' };
    expect(faultsOf(open)).toContain('for all to read');
  });

  it('rejects a setting that needs another, and an invalid address', () => {
    expect(faultsOf({ SMTP_HOST: 'smtp.internal' })).toContain('no effect without SMTP_FROM');
    expect(faultsOf({ SMTP_MAIL: 'ON' })).toContain('no effect without SMTP_HOST');
    expect(faultsOf({ ...whole, SMTP_USER: 'u' })).toContain('no effect without SMTP_PASSWORD');
    for (const wrong of ['a', 'a@b@c', 'a@b\r\nBcc: c@d', 'a@b,', '<a@b>']) {
      expect(faultsOf({ ...whole, GATEWRIGHT_ALERT_EMAILS: wrong })).toContain('ALERT_EMAILS');
    }
  });
});

describe('the settings of traces', () => {
  it('accepts the base or the whole address of a collector, and headers in OpenTelemetry syntax', () => {
    expect(read(outside).inference.traces).toBeNull();
    const base = { ...outside, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' };
    const { traces } = read({
      ...base,
      OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer%20a%2Cb, x-team = red',
    }).inference;
    expect(traces).toMatchObject({ serviceName: 'gatewright' });
    expect(traces!.url.href).toBe('http://collector:4318/v1/traces');
    expect(traces!.headers!.reveal()).toEqual({ authorization: 'Bearer a,b', 'x-team': 'red' });
    expect(JSON.stringify(traces)).not.toContain('Bearer');
    const whole = 'https://otlp.example.com/in';
    const other = read({ ...base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: whole }).inference.traces;
    expect(other!.url.href).toBe(whole);
  });

  it('records the share of the named OpenTelemetry sampler, all by default', () => {
    const base = { ...outside, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
    const samplerOf = (more: object) => read({ ...base, ...more }).inference.traces!.sampler;
    expect(samplerOf({})).toEqual({ heedsParent: true, ratio: 1 });
    const shares = { always_on: 1, always_off: 0, traceidratio: 0.25 };
    for (const [name, ratio] of Object.entries(shares)) {
      const given = (sampler: string) =>
        samplerOf({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: '0.25' });
      expect(given(name)).toEqual({ heedsParent: false, ratio });
      expect(given(`parentbased_${name}`)).toEqual({ heedsParent: true, ratio });
    }
    expect(samplerOf({ OTEL_TRACES_SAMPLER: 'traceidratio' }).ratio).toBe(1);
    for (const name of ['jaeger_remote', 'parentbased', '1']) {
      expect(faultsOf({ OTEL_TRACES_SAMPLER: name })).toContain('parentbased_always_on');
    }
    for (const ratio of ['1.1', '-0.1', '50%', '1e-3', 'half', 'NaN']) {
      expect(faultsOf({ OTEL_TRACES_SAMPLER_ARG: ratio })).toContain('a number from 0 to 1');
    }
  });

  it('rejects an invalid address or header, without showing a header', () => {
    for (const wrong of ['collector:4318', 'http://user:pass@collector', 'grpc://collector']) {
      expect(faultsOf({ OTEL_EXPORTER_OTLP_ENDPOINT: wrong })).toContain('without credentials');
    }
    for (const wrong of ['canary', 'a b=canary', 'a=%zz-canary', 'a=canary%0d%0ab', 'a=canary,']) {
      const faults = faultsOf({ OTEL_EXPORTER_OTLP_HEADERS: wrong });
      expect(faults).toContain('NAME=VALUE');
      expect(faults).not.toContain('canary');
    }
  });
});

describe('the settings of a region', () => {
  const region = { GATEWRIGHT_REGION: 'eu-west' };
  const url = { GATEWRIGHT_LINK_URL: 'https://control.example:8443' };

  it('rejects a region without its home', () => {
    expect(faultsOf({ ...region, ...database })).toContain(
      'GATEWRIGHT_REGION needs GATEWRIGHT_LINK_URL, the address of its home: set it',
    );
  });

  it('rejects a region without a database of its own', () => {
    expect(faultsOf({ ...region, ...url })).toContain(
      'GATEWRIGHT_REGION needs a database of its own: set DB_HOST, DB_SOCKET or DB_URL',
    );
  });

  it('names it where a link and a database are set together', () => {
    expect(faultsOf({ ...url, ...database })).toContain('or set GATEWRIGHT_REGION');
    const port = { GATEWRIGHT_LINK_PORT: '8443' };
    expect(faultsOf({ ...url, ...port })).toContain('keep one, or set GATEWRIGHT_REGION');
    expect(faultsOf({ ...url, ...port, ...database, ...region })).not.toContain('keep one');
  });

  it('rejects a name with other letters', () => {
    expect(faultsOf({ GATEWRIGHT_REGION: 'EU West' })).toContain('lower-case letters');
  });
});
