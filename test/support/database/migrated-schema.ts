/** Reads the migrated schema as statements that recreate it at once. */
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { createLog } from '../../../src/log.ts';
import { migrate } from '../../../src/store/migrations/migrate.ts';
import type { TestDatabaseServer } from './database-server.ts';
import { createDatabaseOn } from './empty-database.ts';

/** Runs every migration once and reads back tables and rows. */
export async function readMigratedSchema(server: TestDatabaseServer): Promise<string> {
  await using empty = await createDatabaseOn(server);
  await migrate(empty.settings, { log: createLog({ level: 'silent' }) });
  const { host, port, user, password } = server;
  const database = empty.settings.name;
  const connection = await createConnection({ host, port, user, password, database });
  const read = async (statement: string, ...names: string[]) =>
    (await connection.query<RowDataPacket[]>(statement, names))[0];
  try {
    const statements: string[] = [];
    for (const found of await read('SHOW TABLES')) {
      const table = String(Object.values(found)[0]);
      const [made] = await read('SHOW CREATE TABLE ??', table);
      statements.push(String(made!['Create Table']));
      for (const row of await read('SELECT * FROM ??', table)) {
        statements.push(connection.format('INSERT INTO ?? SET ?', [table, row]));
      }
    }
    return statements.join(';\n');
  } finally {
    await connection.end();
  }
}
