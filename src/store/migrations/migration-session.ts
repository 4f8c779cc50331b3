/** Opens the two connections of a migration run: one migrates, the other extends the lease. */
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { Failure } from '../../failure.ts';
import type { Log } from '../../log.ts';
import type { DatabaseSettings } from '../../settings.ts';
import { createConnector } from '../connection/connect.ts';
import { isDenied } from '../connection/denied.ts';

export const databaseMissingErrno = 1049;
export const grantAdvice =
  'Grant it all rights on the database, or run `gatewright migrate` as a user who has them.';
/** The server's default is a day, during which all readers of the table would queue behind the migration. */
const lockWaitSecondsDefault = 10;

export interface MigrationSession extends AsyncDisposable {
  /** Runs the statements of migrations, without a time limit. */
  readonly work: Connection;
  /** Takes, extends and releases the lease while `work` is busy. */
  readonly watch: Connection;
  /** Product and version: `MariaDB 10.11.19`, `MySQL 8.4.3`. */
  readonly databaseVersion: string;
}

/** Creates the database first when it is missing and the user may. */
export async function openSession(
  settings: DatabaseSettings,
  options: { readonly log: Log; readonly lockWaitSeconds?: number },
): Promise<MigrationSession> {
  const { log, lockWaitSeconds = lockWaitSecondsDefault } = options;
  const work = (await openExisting(settings, log)) ?? (await openCreated(settings, log));
  let watch: Connection | undefined;
  try {
    watch = await open(settings);
    await work.query('SET SESSION lock_wait_timeout = ?, innodb_lock_wait_timeout = ?', [
      lockWaitSeconds,
      lockWaitSeconds,
    ]);
    const databaseVersion = await readVersion(work);
    const both = [work, watch];
    return {
      work,
      watch,
      databaseVersion,
      [Symbol.asyncDispose]: async () => {
        await Promise.all(both.map(close));
      },
    };
  } catch (error) {
    work.destroy();
    watch?.destroy();
    throw error;
  }
}

/** Null when the server answers but has no such database. */
export async function openExisting(
  settings: DatabaseSettings,
  log?: Log,
): Promise<Connection | null> {
  try {
    return await open(settings, { log });
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    if (errnoOf(cause) !== databaseMissingErrno) throw error;
    return null;
  }
}

async function openCreated(settings: DatabaseSettings, log: Log): Promise<Connection> {
  const connection = await open(settings, { withoutDatabase: true });
  const quoted = `\`${settings.name.replaceAll('`', '``')}\``;
  const sql = `CREATE DATABASE IF NOT EXISTS ${quoted} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`;
  try {
    await connection.query(sql);
    log.info({ database: settings.name }, 'database created');
  } catch (error) {
    if (!isDenied(error)) throw error;
    const address = settings.socketPath ?? `${settings.host}:${settings.port}`;
    throw new Failure(
      'invalidInput',
      `The server at ${address} has no database ${settings.name}, and user ${settings.user} may not ` +
        `create it. Have it created (${sql}) with all rights granted to that user, or correct DB_NAME.`,
      { cause: error },
    );
  } finally {
    await close(connection);
  }
  return open(settings);
}

async function open(
  settings: DatabaseSettings,
  options: { log?: Log | undefined; withoutDatabase?: boolean } = {},
): Promise<Connection> {
  const connection = await createConnector(settings, options).open();
  return connection.promise();
}

/** Ends the connection, or destroys it when it is already broken. */
export async function close(connection: Connection): Promise<void> {
  await connection.end().catch(() => connection.destroy());
}

/** `10.11.19-MariaDB-0+deb12u1` becomes `MariaDB 10.11.19`, anything else `MySQL 8.4.3`. */
export async function readVersion(connection: Connection): Promise<string> {
  const [rows] = await connection.query<RowDataPacket[]>('SELECT VERSION() AS version');
  const version = String(rows[0]?.version);
  const number = /^[\d.]+/.exec(version)?.[0] ?? version;
  return `${/mariadb/i.test(version) ? 'MariaDB' : 'MySQL'} ${number}`;
}

/** Error number of the server; undefined for errors that did not come from the server. */
export function errnoOf(error: unknown): number | undefined {
  const errno = (error as { errno?: unknown } | null | undefined)?.errno;
  return typeof errno === 'number' && errno >= 1000 ? errno : undefined;
}
