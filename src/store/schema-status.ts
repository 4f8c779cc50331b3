/** Compares the database schema with this build, over the pool of a serving process. */
import { sql } from 'kysely';
import type { RowDataPacket } from 'mysql2';
import type { Db } from './connection/db.ts';
import { DatabaseUnavailable } from './connection/unavailable.ts';
import { readMigrations } from './migrations/migration-files.ts';
import { databaseMissingErrno, errnoOf } from './migrations/migration-session.ts';
import { compareSchema, type SchemaStatus } from './migrations/migration-state.ts';
import { readAll } from './migrations/schema-migrations.ts';

/** Compares the database with this build; a missing database counts as empty. */
export async function readSchemaStatus(db: Db): Promise<SchemaStatus> {
  const applied = await readAll(async (statement) => {
    try {
      return (await sql.raw<RowDataPacket>(statement).execute(db)).rows;
    } catch (error) {
      const cause = error instanceof DatabaseUnavailable ? error.cause : null;
      if (errnoOf(cause) === databaseMissingErrno) return [];
      throw error;
    }
  });
  return compareSchema(readMigrations(), applied);
}
