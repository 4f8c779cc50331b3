/** Classifies errors of the database driver: unreachable, retryable, or a real fault. */
import { Failure } from '../../failure.ts';
import type { DatabaseSettings } from '../../settings.ts';

/** No connection could be opened. The message is for operators: where, why, and what to do. */
export class DatabaseUnavailable extends Failure {
  override name = 'DatabaseUnavailable';

  constructor(message: string, options?: ErrorOptions) {
    super('unreachable', message, options);
  }
}

/** The process has no database. The message is for callers. */
export class NoDatabase extends DatabaseUnavailable {
  override name = 'NoDatabase';
}

/** The connection was lost during a change, which the server may or may not have carried out. */
export class OutcomeUnknown extends Error {
  override name = 'OutcomeUnknown';

  constructor(cause: unknown) {
    super('The connection was lost before the database told the outcome of a change', { cause });
  }
}

/** A statement exceeded its time limit; the server may still be running it. Has the code of the driver's own timeout. */
export class StatementTimeout extends Error {
  override name = 'StatementTimeout';
  readonly code = 'PROTOCOL_SEQUENCE_TIMEOUT';

  constructor(afterMs: number) {
    super(`A statement took longer than ${afterMs} ms`);
  }
}

/** Fields of driver errors: `errno` and `sqlState` on errors of the server, `code` on all. */
interface DriverError {
  readonly code?: unknown;
  readonly errno?: unknown;
  readonly sqlState?: unknown;
  readonly fatal?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
}

const errnos = {
  fileWriteFailed: 3,
  fileSystemFull: 20,
  rowChanged: 1020,
  diskFull: 1021,
  errorOnWrite: 1026,
  storageEngineError: 1030,
  tableFull: 1114,
  tooManyConnections: 1040,
  accessDenied: 1045,
  databaseAccessDenied: 1044,
  unknownCommand: 1047,
  unknownDatabase: 1049,
  serverShutdown: 1053,
  hostBlocked: 1129,
  hostNotPrivileged: 1130,
  rollbackDuringCommit: 1180,
  tooManyUserConnections: 1203,
  lockWaitTimeout: 1205,
  deadlock: 1213,
  userLimitReached: 1226,
  optionPreventsStatement: 1290,
  queryInterrupted: 1317,
  tableChanged: 1412,
  passwordMissing: 1698,
  readOnlyMode: 1836,
  temporaryFileWriteFailed: 1878,
  connectionKilled: 1927,
  accountLocked: 3118,
  secureTransportRequired: 3159,
  inactive: 4031,
} as const;

/**
 * Galera returns 1047 while a node has no quorum, and 1180 or 1213 when two nodes wrote the same row. Any
 * server returns 1412 when a migration changed a table after the transaction's snapshot. MariaDB with
 * `innodb_snapshot_isolation` returns 1020 when a row to be locked changed after the snapshot.
 */
const retryableErrnos: ReadonlySet<unknown> = new Set([
  errnos.deadlock,
  errnos.lockWaitTimeout,
  errnos.unknownCommand,
  errnos.rollbackDuringCommit,
  errnos.tableChanged,
  errnos.rowChanged,
]);

/** Errors after which the connection is unusable: the server closes it or is no longer the writer. */
const spentErrnos: ReadonlySet<unknown> = new Set([
  errnos.unknownCommand,
  errnos.serverShutdown,
  errnos.optionPreventsStatement,
  errnos.readOnlyMode,
  errnos.connectionKilled,
  errnos.inactive,
]);

/** The server accepts no changes, though it may answer reads: its disk is full, or it is a replica. */
const noWriteErrnos: ReadonlySet<unknown> = new Set([
  errnos.fileWriteFailed,
  errnos.fileSystemFull,
  errnos.diskFull,
  errnos.errorOnWrite,
  errnos.tableFull,
  errnos.temporaryFileWriteFailed,
  errnos.optionPreventsStatement,
  errnos.readOnlyMode,
]);

/** Error numbers of the operating system for a full disk and an exceeded quota. */
const noSpaceMessage = /\b(?:28|122)\b/;

/** The server or the user has reached the connection limit. */
const fullErrnos: ReadonlySet<unknown> = new Set([
  errnos.tooManyConnections,
  errnos.tooManyUserConnections,
  errnos.userLimitReached,
]);

const unavailableErrnos: ReadonlySet<unknown> = new Set([
  ...retryableErrnos,
  ...spentErrnos,
  ...noWriteErrnos,
  ...fullErrnos,
  errnos.hostBlocked,
  errnos.queryInterrupted,
]);

/** Errors of a statement that the server may have carried out. */
const interruptedErrnos: ReadonlySet<unknown> = new Set([
  errnos.serverShutdown,
  errnos.queryInterrupted,
  errnos.connectionKilled,
]);

/** Whether the change may have been carried out: there was no response, or one that leaves it open. */
export function leavesOutcomeOpen(error: unknown): boolean {
  const { errno, sqlState } = driverError(error);
  return sqlState === undefined || interruptedErrnos.has(errno);
}

/** Whether a change may have been carried out, so that only an idempotent one may be retried. */
export function isOutcomeUnknown(error: unknown): boolean {
  if (error instanceof OutcomeUnknown) return true;
  const { cause } = driverError(error);
  return cause instanceof Error && isOutcomeUnknown(cause);
}

/**
 * Whether the database is unreachable or cannot do the work now; callers return 503. A change was not
 * carried out, unless {@link isOutcomeUnknown}.
 */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true;
  const { errno, cause } = driverError(error);
  if (isFromDriver(error)) {
    if (unavailableErrnos.has(errno) || isConnectionSpent(error) || isWriteRefusal(error)) {
      return true;
    }
  }
  return cause instanceof Error && isUnavailable(cause);
}

/** Whether the server rejects further connections because a limit is reached. */
export function isServerFull(error: unknown): boolean {
  const { errno, cause } = driverError(error);
  return fullErrnos.has(errno) || (cause instanceof Error && isServerFull(cause));
}

/** Connection errors that a retry cannot resolve. */
const refusalErrnos: ReadonlySet<unknown> = new Set([
  errnos.databaseAccessDenied,
  errnos.accessDenied,
  errnos.unknownDatabase,
  errnos.hostNotPrivileged,
  errnos.passwordMissing,
  errnos.secureTransportRequired,
  errnos.accountLocked,
]);

/** An aborted handshake, for example while the server starts or stops. */
const cutOffMessage = /disconnected|ECONNRESET|EPIPE|ETIMEDOUT/;

/**
 * Whether a retry may succeed: the database does not respond yet or cannot do the work now. Wrong names,
 * passwords and certificates need an operator.
 */
export function isTemporary(error: unknown): boolean {
  return isUnavailable(error) && !isRefusal(error);
}

function isRefusal(error: unknown): boolean {
  const { code, errno, message, cause } = driverError(error);
  if (refusalErrnos.has(errno) || code === 'HANDSHAKE_NO_SSL_SUPPORT') return true;
  if (isTlsFault(code)) return !cutOffMessage.test(String(message));
  return cause instanceof Error && isRefusal(cause);
}

function isTlsFault(code: unknown): boolean {
  return /^(?:HANDSHAKE_SSL|ERR_SSL|ERR_TLS|ERR_OSSL)/.test(String(code));
}

/** Whether the server rejected a change that it may accept later; nothing was changed. */
export function isWriteRefusal(error: unknown): boolean {
  const { errno, message } = driverError(error);
  if (errno === errnos.storageEngineError) return noSpaceMessage.test(String(message));
  return noWriteErrnos.has(errno);
}

/** Whether a whole transaction may succeed when it is run again. */
export function isRetryable(error: unknown): boolean {
  const { errno, cause } = driverError(error);
  return retryableErrnos.has(errno) || (cause instanceof Error && isRetryable(cause));
}

/**
 * Whether a connection must not be used again after this error: any error but an ordinary response of
 * the server. After a timeout the driver would give the late response to the next query.
 */
export function isConnectionSpent(error: unknown): boolean {
  const { errno, sqlState, fatal } = driverError(error);
  return sqlState === undefined || fatal === true || spentErrnos.has(errno);
}

function driverError(error: unknown): DriverError {
  return error instanceof Error ? (error as DriverError) : {};
}

/** The driver sets `errno`, a code of its own or a socket code; programming errors have neither. */
function isFromDriver(error: unknown): boolean {
  const { code, errno, fatal } = driverError(error);
  return (
    errno !== undefined || fatal === true || /^(?:PROTOCOL_|HANDSHAKE_|E[A-Z]+$)/.test(String(code))
  );
}

/** Explains a connection failure to the operator; `encrypted` is whether TLS was in use. */
export function explainConnectFailure(
  error: unknown,
  settings: DatabaseSettings,
  encrypted: boolean,
): DatabaseUnavailable {
  const place = settings.socketPath ?? `${settings.host}:${settings.port}`;
  const reason = reasonOf(driverError(error), settings, encrypted);
  return new DatabaseUnavailable(`Cannot use the database at ${place}: ${reason}`, {
    cause: error,
  });
}

function reasonOf(error: DriverError, settings: DatabaseSettings, encrypted: boolean): string {
  const message = String(error.message ?? '');
  switch (error.errno) {
    case errnos.accessDenied:
      return `${deniedReason(settings, encrypted)} (${message})`;
    case errnos.secureTransportRequired:
      return 'the server takes encrypted connections only; set DB_SSL to REQUIRED or stricter';
    case errnos.unknownDatabase:
      return `it has no database ${settings.name}; create it or correct DB_NAME`;
    case errnos.databaseAccessDenied:
      return `user ${settings.user} may not use the database ${settings.name}; grant it`;
    case errnos.tooManyConnections:
    case errnos.tooManyUserConnections:
    case errnos.userLimitReached:
      return `it has no free connection; lower DB_POOL_SIZE or raise the limit (${message})`;
  }
  switch (error.code) {
    case 'ECONNREFUSED':
      return 'nothing listens there; start it or correct DB_HOST and DB_PORT';
    case 'ENOENT':
      return 'there is no such socket; start the server or correct DB_SOCKET';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the name cannot be resolved; correct DB_HOST';
    case 'ETIMEDOUT':
    case 'PROTOCOL_SEQUENCE_TIMEOUT':
      return 'it does not answer; check that the server runs and no firewall is between';
    case 'HANDSHAKE_NO_SSL_SUPPORT':
      return `it offers no TLS, which DB_SSL=${settings.tls.mode} demands`;
  }
  return isTlsFault(error.code) ? tlsReason(message, settings) : message;
}

/** MariaDB only reports "access denied" when the user or the server requires TLS or a certificate. */
function deniedReason({ user, tls }: DatabaseSettings, encrypted: boolean): string {
  const hint = !encrypted
    ? '; if user or server demand TLS, set DB_SSL to REQUIRED or stricter'
    : tls.cert === null
      ? '; if the user demands a client certificate, set DB_SSL_CERT and DB_SSL_KEY'
      : '; check that the user accepts the client certificate of DB_SSL_CERT';
  return `user ${user} is not let in; check DB_USER and DB_PASS${hint}`;
}

function tlsReason(message: string, { tls }: DatabaseSettings): string {
  const start = `the TLS handshake failed under DB_SSL=${tls.mode}`;
  if (/altnames|does not match/i.test(message)) {
    return `${start}: the certificate is for another name; correct DB_HOST (${message})`;
  }
  if (/self-signed|unable to (?:verify|get)|unknown ca/i.test(message)) {
    const authority =
      tls.ca === null ? 'a known authority; name its own in DB_SSL_CA' : 'DB_SSL_CA';
    return `${start}: the certificate is not vouched for by ${authority} (${message})`;
  }
  return `${start} (${message})`;
}
