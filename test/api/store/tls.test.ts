/** Verifies each DB_SSL mode against servers with valid, invalid and missing certificates. */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Secret } from '../../../src/secret.ts';
import type { DatabaseSettings, DatabaseTlsMode } from '../../../src/settings.ts';
import { type Database, openDatabase } from '../../../src/store/connection/db.ts';
import { isRdsName, tlsOptions } from '../../../src/store/connection/tls.ts';
import { isUnavailable } from '../../../src/store/connection/unavailable.ts';
import { type Authority, createPki, type IssuedCertificate } from '../../support/callers/pki.ts';
import {
  startTestDatabaseServer,
  type TestDatabaseServer,
} from '../../support/database/database-server.ts';

type Outcome = 'tls' | 'plain' | 'refused';
type Certificate = 'good' | 'expired' | 'future' | 'wrong name' | 'unknown authority';

const certificates: Certificate[] = [
  'good',
  'expired',
  'future',
  'wrong name',
  'unknown authority',
];
const modes: DatabaseTlsMode[] = [
  'DISABLED',
  'PREFERRED',
  'REQUIRED',
  'VERIFY_CA',
  'VERIFY_IDENTITY',
  'Amazon RDS',
];

/** Columns in the order of `modes`. */
const expected: Record<Certificate | 'none', Outcome[]> = {
  good: ['plain', 'tls', 'tls', 'tls', 'tls', 'refused'],
  expired: ['plain', 'tls', 'tls', 'refused', 'refused', 'refused'],
  future: ['plain', 'tls', 'tls', 'refused', 'refused', 'refused'],
  'wrong name': ['plain', 'tls', 'tls', 'tls', 'refused', 'refused'],
  'unknown authority': ['plain', 'tls', 'tls', 'refused', 'refused', 'refused'],
  none: ['plain', 'plain', 'refused', 'refused', 'refused', 'refused'],
};

const pki = createPki();
let authority: Authority;
let stranger: Authority;
let issued: Record<Certificate, IssuedCertificate>;
let secure: Awaited<ReturnType<typeof startTestDatabaseServer>>;
let plain: Awaited<ReturnType<typeof startTestDatabaseServer>>;
const serverCert = join(pki.directory, 'server-cert.pem');
const serverKey = join(pki.directory, 'server-key.pem');

beforeAll(async () => {
  authority = pki.authority('house');
  stranger = pki.authority('stranger');
  const localhost = { altNames: 'DNS:localhost,IP:127.0.0.1' };
  issued = {
    good: authority.issue({ name: 'good', ...localhost }),
    expired: authority.issue({ name: 'expired', ...localhost, fromDays: -30, untilDays: -1 }),
    future: authority.issue({ name: 'future', ...localhost, fromDays: 10 }),
    'wrong name': authority.issue({ name: 'wrong', altNames: 'DNS:db.example' }),
    'unknown authority': stranger.issue({ name: 'unknown', ...localhost }),
  };
  present('good');
  secure = await startTestDatabaseServer([
    `--ssl-ca=${authority.certPath}`,
    `--ssl-cert=${serverCert}`,
    `--ssl-key=${serverKey}`,
  ]);
  plain = await startTestDatabaseServer();
});

afterAll(async () => {
  await Promise.all([secure?.stop(), plain?.stop()]);
  pki[Symbol.dispose]();
});

function present(certificate: Certificate): void {
  copyFileSync(issued[certificate].certPath, serverCert);
  copyFileSync(issued[certificate].keyPath, serverKey);
}

/** Makes the running server load another certificate. */
async function serve(certificate: Certificate): Promise<void> {
  present(certificate);
  await using database = openDatabase({
    ...settingsFor(secure.server, 'DISABLED'),
    socketPath: secure.socketPath,
  });
  await sql`FLUSH SSL`.execute(database.db);
}

function settingsFor(
  server: TestDatabaseServer,
  mode: DatabaseTlsMode,
  tls: Partial<DatabaseSettings['tls']> = {},
): DatabaseSettings {
  const verifies = mode === 'VERIFY_CA' || mode === 'VERIFY_IDENTITY';
  return {
    host: 'localhost',
    port: server.port,
    socketPath: null,
    user: server.user,
    password: new Secret(server.password, 'test'),
    name: 'mysql',
    poolSize: 2,
    tls: { mode, ca: verifies ? authority.cert : null, cert: null, key: null, ...tls },
  };
}

/** Returns the cipher that the server reports for the connection. */
async function cipherOf(database: Database): Promise<string> {
  const status = await sql<{ Value: string }>`SHOW SESSION STATUS LIKE 'Ssl_cipher'`.execute(
    database.db,
  );
  return status.rows[0]!.Value;
}

async function outcome(settings: DatabaseSettings): Promise<Outcome> {
  await using database = openDatabase(settings);
  try {
    const cipher = await cipherOf(database);
    expect(database.tls()).toMatchObject({ mode: settings.tls.mode, cipher: cipher || null });
    return cipher === '' ? 'plain' : 'tls';
  } catch (error) {
    expect(isUnavailable(error)).toBe(true);
    return 'refused';
  }
}

describe.each(certificates)('a server with a certificate that is: %s', (certificate) => {
  beforeAll(() => serve(certificate));

  it.each(modes.map((mode, at) => [mode, expected[certificate][at]!] as const))(
    '%s results in %s',
    async (mode, result) => {
      expect(await outcome(settingsFor(secure.server, mode))).toBe(result);
    },
  );
});

describe('a server without TLS', () => {
  it.each(modes.map((mode, at) => [mode, expected.none[at]!] as const))(
    '%s results in %s',
    async (mode, result) => {
      expect(await outcome(settingsFor(plain.server, mode))).toBe(result);
    },
  );

  it('is asked for TLS again by each connection under PREFERRED', async () => {
    const lines: string[] = [];
    const { createLog } = await import('../../../src/log.ts');
    const log = createLog({ level: 'warn', destination: { write: collectInto(lines) } });
    await using database = openDatabase(settingsFor(plain.server, 'PREFERRED'), { log });
    // The first connection is held while the second is opened.
    await database.transaction((tx) =>
      sql`DO 0`.execute(tx).then(() => sql`DO 0`.execute(database.db)),
    );
    expect(database.pool().size).toBe(2);
    expect(lines.filter((line) => line.includes('not encrypted'))).toHaveLength(1);
  });

  it('is rejected with an error that names the mode which requires TLS', async () => {
    await using database = openDatabase(settingsFor(plain.server, 'REQUIRED'));
    await expect(database.ping()).rejects.toThrow('offers no TLS, which DB_SSL=REQUIRED demands');
  });
});

function collectInto(lines: string[]) {
  return (line: unknown): boolean => {
    lines.push(String(line));
    return true;
  };
}

describe('a TLS error', () => {
  it.each([
    ['expired', 'VERIFY_CA', 'certificate has expired'],
    ['wrong name', 'VERIFY_IDENTITY', 'the certificate is for another name; correct DB_HOST'],
    ['unknown authority', 'VERIFY_CA', 'not vouched for by DB_SSL_CA'],
    ['good', 'Amazon RDS', 'not vouched for by a known authority; name its own in DB_SSL_CA'],
  ] as const)(
    'names the reason for a certificate that is %s under %s',
    async (which, mode, text) => {
      await serve(which);
      await using database = openDatabase(settingsFor(secure.server, mode));
      await expect(database.ping()).rejects.toThrow(text);
    },
  );

  it('is avoided with public authorities by default', async () => {
    await serve('good');
    const settings = settingsFor(secure.server, 'VERIFY_CA', { ca: null });
    expect(await outcome(settings)).toBe('refused');
  });
});

describe('a user that requires TLS', () => {
  let client: IssuedCertificate;
  let strange: IssuedCertificate;

  beforeAll(async () => {
    await serve('good');
    client = authority.issue({ name: 'client' });
    strange = stranger.issue({ name: 'strange client' });
    await using database = openDatabase(settingsFor(secure.server, 'REQUIRED'));
    for (const host of ['localhost', '127.0.0.1']) {
      const create = (user: string, demand: string) =>
        sql.raw(`CREATE USER ${user}@'${host}' IDENTIFIED BY 'x' REQUIRE ${demand}`);
      await create('careful', 'SSL').execute(database.db);
      await create('certified', 'X509').execute(database.db);
      await sql.raw(`GRANT SELECT ON mysql.* TO careful@'${host}'`).execute(database.db);
      await sql.raw(`GRANT SELECT ON mysql.* TO certified@'${host}'`).execute(database.db);
    }
  });

  const as = (user: string, mode: DatabaseTlsMode, pair?: IssuedCertificate): DatabaseSettings => ({
    ...settingsFor(secure.server, mode, {
      cert: pair?.cert ?? null,
      key: pair === undefined ? null : new Secret(pair.key, 'test'),
    }),
    user,
    password: new Secret('x', 'test'),
  });

  it('is rejected under DISABLED with a hint at DB_SSL', async () => {
    await using database = openDatabase(as('careful', 'DISABLED'));
    await expect(database.ping()).rejects.toThrow(/not let in.*set DB_SSL to REQUIRED or stricter/);
    expect(await outcome(as('careful', 'PREFERRED'))).toBe('tls');
  });

  it('is admitted with its client certificate, and rejected without one with a hint', async () => {
    for (const mode of ['PREFERRED', 'REQUIRED', 'VERIFY_CA', 'VERIFY_IDENTITY'] as const) {
      expect(await outcome(as('certified', mode, client))).toBe('tls');
    }
    await using database = openDatabase(as('certified', 'REQUIRED'));
    await expect(database.ping()).rejects.toThrow(/not let in.*set DB_SSL_CERT and DB_SSL_KEY/);
  });

  it('is rejected with a certificate of another authority', async () => {
    expect(await outcome(as('certified', 'REQUIRED', strange))).toBe('refused');
  });
});

describe('certificate rotation', () => {
  it('uses new certificates for new connections without a new pool', async () => {
    await serve('good');
    const renewed = pki.authority('renewed');
    let settings = settingsFor(secure.server, 'VERIFY_CA', { ca: stranger.cert });
    const refresh = (): DatabaseSettings => ({ ...settings, refresh });
    await using database = openDatabase({ ...settings, refresh });
    await expect(database.ping()).rejects.toThrow('not vouched for');
    settings = settingsFor(secure.server, 'VERIFY_CA', { ca: renewed.cert + authority.cert });
    await database.ping();
    expect(await cipherOf(database)).not.toBe('');
  });
});

describe('Amazon RDS', () => {
  it('verifies the host name for hosts of Amazon RDS only', async () => {
    expect(isRdsName('db.abc.eu-central-1.rds.amazonaws.com')).toBe(true);
    expect(isRdsName('proxy.proxy-abc.eu-central-1.rds.amazonaws.com')).toBe(true);
    expect(isRdsName('db.abc.cn-north-1.rds.amazonaws.com.cn')).toBe(true);
    expect(isRdsName('rds.amazonaws.com.example.org')).toBe(false);
    const settings = settingsFor(secure.server, 'Amazon RDS');
    const host = 'db.abc.eu-central-1.rds.amazonaws.com';
    expect(await tlsOptions({ ...settings, host })).toMatchObject({ verifyIdentity: true });
    expect(await tlsOptions(settings)).toMatchObject({ verifyIdentity: false });
  });
});
