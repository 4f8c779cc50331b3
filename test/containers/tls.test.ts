/** Tests each DB_SSL mode with a server from an image: encrypted where required, refused with a foreign certificate authority. */
import { sql } from 'kysely';
import { describe, expect, inject, it } from 'vitest';
import { createLog } from '../../src/log.ts';
import type { DatabaseSettings, DatabaseTlsMode } from '../../src/settings.ts';
import { openDatabase } from '../../src/store/connection/db.ts';
import { isUnavailable } from '../../src/store/connection/unavailable.ts';
import { migrate, migrationStatus } from '../../src/store/migrations/migrate.ts';
import { createPki } from '../support/callers/pki.ts';
import { createEmptyDatabase, createTestDatabase } from '../support/database/database.ts';

const modes: DatabaseTlsMode[] = ['PREFERRED', 'REQUIRED', 'VERIFY_CA', 'VERIFY_IDENTITY'];

function under(
  settings: DatabaseSettings,
  mode: DatabaseTlsMode,
  ca: string | null = null,
): DatabaseSettings {
  return { ...settings, host: 'localhost', tls: { mode, ca, cert: null, key: null } };
}

describe('a server from an image', () => {
  it.each(modes)('is spoken to in TLS under %s', async (mode) => {
    await using test = await createTestDatabase();
    const authority = mode.startsWith('VERIFY') ? inject('databaseAuthority') : null;
    await using database = openDatabase(under(test.settings, mode, authority));
    const status = sql<{ Value: string }>`SHOW SESSION STATUS LIKE 'Ssl_cipher'`;
    const reported = (await status.execute(database.db)).rows[0]!.Value;
    expect(reported).not.toBe('');
    expect(database.tls()).toMatchObject({ mode, cipher: reported });
  });

  it.each(['VERIFY_CA', 'VERIFY_IDENTITY'] as const)(
    'is refused under %s where a stranger vouches for it',
    async (mode) => {
      using pki = createPki();
      await using test = await createTestDatabase();
      const stranger = pki.authority('stranger').cert;
      await using database = openDatabase(under(test.settings, mode, stranger));
      const refused = await database.ping().catch((error: unknown) => error);
      expect(isUnavailable(refused)).toBe(true);
      expect(String(refused)).toContain('DB_SSL_CA');
    },
  );

  it('is migrated over TLS that checks its name', async () => {
    await using empty = await createEmptyDatabase();
    const settings = under(empty.settings, 'VERIFY_IDENTITY', inject('databaseAuthority'));
    const { applied } = await migrate(settings, { log: createLog({ level: 'silent' }) });
    expect(applied.length).toBeGreaterThan(0);
    expect((await migrationStatus(settings)).state).toBe('current');
  });
});
