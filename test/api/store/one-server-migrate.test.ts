/** Verifies migrations with databases, rights and lock timeouts of one server. */
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { expect, it } from 'vitest';
import { createLog } from '../../../src/log.ts';
import { Secret } from '../../../src/secret.ts';
import type { DatabaseSettings } from '../../../src/settings.ts';
import { migrate, migrationStatus } from '../../../src/store/migrations/migrate.ts';
import {
  eachOnMigrations,
  failure,
  log,
  type OwnMigrations,
} from '../../support/database/own-migrations.ts';

let database: OwnMigrations['database'];
let directory: string;
const { write, run } = eachOnMigrations((own) => {
  ({ database, directory } = own);
});

it('creates the database itself when it is missing and the user has the right', async () => {
  const settings = { ...database.settings, name: `${database.settings.name}_new` };
  expect((await migrationStatus(settings)).state).toBe('empty');
  await migrate(settings, { log });
  expect((await migrationStatus(settings)).state).toBe('current');
  await select(`DROP DATABASE ${settings.name}`);
});

it('retries while another transaction locks the table', async () => {
  await write('0001_a', 'CREATE TABLE a (id INT)');
  await run();
  await write('0002_b', 'ALTER TABLE a ADD COLUMN name TEXT');
  const holder = await connect(database.settings);
  await holder.query('START TRANSACTION');
  await holder.query('SELECT * FROM a');
  const blocked = createLog({
    level: 'warn',
    destination: {
      write: (line: string) => {
        if (line.includes('blocked')) void holder.end();
        return true;
      },
    },
  });
  expect((await run({ lockWaitSeconds: 1, log: blocked })).applied).toEqual(['0002_b']);
});

it('needs only read rights when there is nothing to do, and names the missing right otherwise', async () => {
  await write('0001_a', 'CREATE TABLE a (id INT)');
  await run();
  const reader = `r_${database.settings.name.slice(2, 14)}`;
  await select(`CREATE USER ${reader}@'%' IDENTIFIED BY 'reading'`);
  await select(
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ${database.settings.name}.* TO ${reader}@'%'`,
  );
  const settings = {
    ...database.settings,
    user: reader,
    password: new Secret('reading', 'test'),
  };
  expect((await migrate(settings, { log, directory })).applied).toEqual([]);
  await write('0002_b', 'CREATE TABLE b (id INT)');
  await expect(migrate(settings, { log, directory })).rejects.toEqual(
    failure('invalidInput', new RegExp(`${reader} may not .*Grant`)),
  );
  const missing = { ...settings, name: 'gatewright_missing' };
  await expect(migrate(missing, { log, directory })).rejects.toThrow(/may not|not let in|1044/);
  await select(`DROP USER ${reader}@'%'`);
});

async function connect(settings: DatabaseSettings) {
  return createConnection({
    host: settings.host,
    port: settings.port,
    user: settings.user,
    password: settings.password?.reveal(),
    database: settings.name,
  });
}

async function select(sql: string): Promise<RowDataPacket[]> {
  const connection = await connect(database.settings);
  try {
    const [rows] = await connection.query<RowDataPacket[]>(sql);
    return rows;
  } finally {
    await connection.end();
  }
}
