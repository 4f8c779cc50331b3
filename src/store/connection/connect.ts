/** Opens a database connection: handshake, TLS and session set-up within a time limit. */
import { type Connection, createConnection, type SslOptions } from 'mysql2';
import type { Log } from '../../log.ts';
import type { DatabaseSettings } from '../../settings.ts';
import { type ConnectionTls, isRdsName, readTls, renewTls, streamOf, tlsOptions } from './tls.ts';
import { explainConnectFailure } from './unavailable.ts';

const connectTimeoutSecondsDefault = 2;
const statementSecondsDefault = 10;
/** Share of the statement time limit for waiting on one lock. */
const lockWaitShare = 0.3;
const keepAliveDelayMs = 10_000;

/**
 * Session settings, equal on every server regardless of its defaults (docs/guides/database.md, Engines).
 * MariaDB, since 11.4.2 in one case, executes the content of `M` comments, MySQL that of the other one. MySQL has no
 * time limit for silent transactions, so that it ends every silent connection of a pool.
 */
const sessionStatements = (lockWaitSeconds: number, idleSeconds: number, isPooled: boolean) => [
  'SET NAMES utf8mb4',
  'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
  `SET SESSION innodb_lock_wait_timeout = ${lockWaitSeconds} ` +
    `/*M! , idle_write_transaction_timeout = ${idleSeconds} */` +
    (isPooled ? `/*!80000 , wait_timeout = ${idleSeconds} */` : '') +
    '/*M!110402 , innodb_snapshot_isolation = OFF */',
  "SET SESSION time_zone = '+00:00', sql_mode = " +
    "'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
];

function timeoutMsOf({ connectTimeoutSeconds }: DatabaseSettings): number {
  return (connectTimeoutSeconds ?? connectTimeoutSecondsDefault) * 1_000;
}

/** Time limit of a statement. */
export function statementMsOf({ statementSeconds }: DatabaseSettings): number {
  return (statementSeconds ?? statementSecondsDefault) * 1_000;
}

/** At least one second, the server's minimum. */
function lockWaitSecondsOf(settings: DatabaseSettings): number {
  return Math.max(1, Math.floor((statementMsOf(settings) / 1_000) * lockWaitShare));
}

export interface Connector {
  /** A new connection, ready for queries; throws `DatabaseUnavailable`. The caller closes it. */
  open(): Promise<Connection>;
  /** Time after which the server ends an unused connection of a pool, also in a transaction. */
  idleMsOf(connection: Connection): number;
  /** TLS of the latest connection; null before the first. */
  tls(): ConnectionTls | null;
  /** Time limit of each step of a connection. */
  readonly timeoutMs: number;
}

export interface ConnectorOptions {
  readonly log?: Log | undefined;
  /** Connect without selecting a database, in order to create it. */
  readonly withoutDatabase?: boolean;
  /** The connections are for a pool, which closes unused ones before the server does. */
  readonly isPooled?: boolean;
}

export function createConnector(
  configured: DatabaseSettings,
  options: ConnectorOptions = {},
): Connector {
  const { log, isPooled = false } = options;
  const timeoutMs = timeoutMsOf(configured);
  const session = sessionStatements(
    lockWaitSecondsOf(configured),
    Math.ceil(statementMsOf(configured) / 1_000),
    isPooled,
  );
  const idleMs = new WeakMap<Connection, number>();
  let settings = configured;
  let sharedTls: Promise<SslOptions | undefined> | undefined;
  let latest: ConnectionTls | null = null;

  /** A failed refresh retains the working credentials, because a rotation may be half written to disk. */
  const refresh = (): void => {
    try {
      settings = settings.refresh?.() ?? settings;
    } catch (error) {
      log?.warn({ err: error }, 'changed database credentials are not usable, keeping the old');
    }
  };

  const report = async (connection: Connection): Promise<void> => {
    const { mode } = settings.tls;
    const before = latest;
    latest = readTls(connection, mode);
    if (before !== null && before.version === latest.version) return;
    log?.info({ tls: latest }, 'database connected');
    if (mode === 'PREFERRED' && latest.version === null) {
      log?.warn('database connections are not encrypted: the server offers no TLS');
    }
    if (before === null) await warnOnce(connection, settings, log);
  };

  return {
    timeoutMs,
    tls: () => latest,
    idleMsOf: (connection) => idleMs.get(connection) ?? Number.POSITIVE_INFINITY,
    open: async () => {
      refresh();
      sharedTls ??= tlsOptions(settings);
      const tls = await sharedTls;
      if (tls !== undefined) renewTls(tls, settings);
      const database = options.withoutDatabase ? undefined : settings.name;
      const connection = await handshakeAs(settings, tls, database);
      try {
        for (const sql of session) await run(connection, sql, timeoutMs);
        if (isPooled) idleMs.set(connection, await readIdleMs(connection, timeoutMs));
        await report(connection);
      } catch (error) {
        closeSocket(connection);
        throw explainConnectFailure(error, settings, tls !== undefined);
      }
      return connection;
    },
  };
}

/**
 * Implements PREFERRED, which the driver lacks: falls back to plain text only when the server offers no
 * TLS, for each connection. A failed TLS handshake is an error in every mode.
 */
async function handshakeAs(
  settings: DatabaseSettings,
  tls: SslOptions | undefined,
  database: string | undefined,
): Promise<Connection> {
  try {
    return await handshake(settings, tls, database);
  } catch (error) {
    const noTls = (error as NodeJS.ErrnoException).code === 'HANDSHAKE_NO_SSL_SUPPORT';
    if (!noTls || settings.tls.mode !== 'PREFERRED') {
      throw explainConnectFailure(error, settings, tls !== undefined);
    }
  }
  try {
    return await handshake(settings, undefined, database);
  } catch (error) {
    throw explainConnectFailure(error, settings, false);
  }
}

async function handshake(
  settings: DatabaseSettings,
  tls: SslOptions | undefined,
  database: string | undefined,
): Promise<Connection> {
  const connection = createConnection({
    host: settings.host,
    port: settings.port,
    user: settings.user,
    password: settings.password?.reveal(),
    database,
    connectTimeout: timeoutMsOf(settings),
    enableKeepAlive: true,
    keepAliveInitialDelay: keepAliveDelayMs,
    // Return JSON columns as text on every server.
    jsonStrings: true,
    // An object passed as a parameter by mistake must not become a list of assignments.
    stringifyObjects: true,
    // A BIGINT or sum beyond 2^53 is returned as text instead of a rounded number.
    supportBigNumbers: true,
    ...(settings.socketPath === null ? {} : { socketPath: settings.socketPath }),
    ...(tls === undefined ? {} : { ssl: tls }),
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  connection.once('connect', () => resolve());
  // For the connection's lifetime: an error on an idle connection must not end the process.
  connection.on('error', reject);
  try {
    await promise;
    return connection;
  } catch (error) {
    closeSocket(connection);
    throw error;
  }
}

/** Closes the socket at once; the driver's `destroy` would wait for a server that may be frozen. */
export function closeSocket(connection: Connection): void {
  connection.destroy();
  streamOf(connection).destroy();
}

function run(connection: Connection, sql: string, timeout: number): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  connection.query({ sql, timeout }, (error, result) =>
    error === null ? resolve(result) : reject(error),
  );
  return promise;
}

async function readIdleMs(connection: Connection, timeoutMs: number): Promise<number> {
  const rows = await run(connection, 'SELECT @@wait_timeout AS seconds', timeoutMs);
  return Number((rows as { seconds: unknown }[])[0]?.seconds) * 1_000;
}

async function warnOnce(
  connection: Connection,
  settings: DatabaseSettings,
  log: Log | undefined,
): Promise<void> {
  if (log === undefined) return;
  if (settings.tls.mode === 'Amazon RDS' && !isRdsName(settings.host)) {
    log.warn('the host is not a name of Amazon RDS: its certificate is checked, but not its name');
  }
  const sql = 'SELECT @@innodb_flush_log_at_trx_commit AS flush';
  const rows = await run(connection, sql, timeoutMsOf(settings));
  const flush = Number((rows as { flush: unknown }[])[0]?.flush);
  if (flush !== 1) {
    const text =
      'the database may lose the latest changes in a crash: innodb_flush_log_at_trx_commit';
    log.warn({ flush }, text);
  }
}
