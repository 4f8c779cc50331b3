/** Knows what the errors of the database driver mean: out of reach, worth another try, or a real fault. */
import { Failure } from '../../failure.ts';
import type { DatabaseSettings } from '../../settings.ts';

/** No connection could be had. The message is for people: where, why, and what to do about it. */
export class DatabaseUnavailable extends Failure {
  override name = 'DatabaseUnavailable';

  constructor(message: string, options?: ErrorOptions) {
    super('unreachable', message, options);
  }
}

/** The connection was lost while the server carried out a change: nobody knows whether it did. */
export class OutcomeUnknown extends Error {
  override name = 'OutcomeUnknown';

  constructor(cause: unknown) {
    super('The connection was lost before the database told the outcome of a change', { cause });
  }
}

/** A statement took longer than it may, and the server may still be at it; read as the driver's own. */
export class StatementTimeout extends Error {
  override name = 'StatementTimeout';
  readonly code = 'PROTOCOL_SEQUENCE_TIMEOUT';

  constructor(afterMs: number) {
    super(`A statement took longer than ${afterMs} ms`);
  }
}

/** As the driver throws them: `errno` and `sqlState` on answers of the server, `code` on all. */
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
 * Galera answers 1047 while a node has no quorum and 1180 or 1213 where two nodes wrote the same row; any
 * server 1412 where a migration has changed a table since the moment that a transaction reads; MariaDB with
 * `innodb_snapshot_isolation` 1020 where a row that a statement is to lock has changed since it began to read.
 */
const retryableErrnos: ReadonlySet<unknown> = new Set([
  errnos.deadlock,
  errnos.lockWaitTimeout,
  errnos.unknownCommand,
  errnos.rollbackDuringCommit,
  errnos.tableChanged,
  errnos.rowChanged,
]);

/** After these the connection is of no more use: the server closes it, or is no longer the one to talk to. */
const spentErrnos: ReadonlySet<unknown> = new Set([
  errnos.unknownCommand,
  errnos.serverShutdown,
  errnos.optionPreventsStatement,
  errnos.readOnlyMode,
  errnos.connectionKilled,
  errnos.inactive,
]);

/** The server takes no changes now, though it may well answer reads: its disk is full, or it is a replica. */
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

/** The numbers of the operating system for a full disk and a used-up quota. */
const noSpaceMessage = /\b(?:28|122)\b/;

/** What a server answers that has as many connections as it, or the user, may have. */
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

/** The server says these of a statement that it may have carried out already. */
const interruptedErrnos: ReadonlySet<unknown> = new Set([
  errnos.serverShutdown,
  errnos.queryInterrupted,
  errnos.connectionKilled,
]);

/** Whether a change that ended so may have been carried out: no answer to it came, or none that tells. */
export function leavesOutcomeOpen(error: unknown): boolean {
  const { errno, sqlState } = driverError(error);
  return sqlState === undefined || interruptedErrnos.has(errno);
}

/** Whether a change may have been carried out, and may be tried again only where twice does no harm. */
export function isOutcomeUnknown(error: unknown): boolean {
  if (error instanceof OutcomeUnknown) return true;
  const { cause } = driverError(error);
  return cause instanceof Error && isOutcomeUnknown(cause);
}

/**
 * Whether the database could not be reached or could not do the work now; callers answer 503. A
 * change was not carried out then, unless {@link isOutcomeUnknown}.
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

/** Whether there is a server, which has no connection left for who wants one more. */
export function isServerFull(error: unknown): boolean {
  const { errno, cause } = driverError(error);
  return fullErrnos.has(errno) || (cause instanceof Error && isServerFull(cause));
}

/** Answers to who wants to connect that another try does not change. */
const refusalErrnos: ReadonlySet<unknown> = new Set([
  errnos.databaseAccessDenied,
  errnos.accessDenied,
  errnos.unknownDatabase,
  errnos.hostNotPrivileged,
  errnos.passwordMissing,
  errnos.secureTransportRequired,
  errnos.accountLocked,
]);

/** A handshake that was cut off, as by a server that is about to start or to stop. */
const cutOffMessage = /disconnected|ECONNRESET|EPIPE|ETIMEDOUT/;

/**
 * Whether another try may find the database: it does not answer yet, or cannot do the work now. Wrong
 * names, passwords and certificates are for people to correct.
 */
export function isPassing(error: unknown): boolean {
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

/** Whether the server refused a change that it would take at another time: nothing was changed. */
export function isWriteRefusal(error: unknown): boolean {
  const { errno, message } = driverError(error);
  if (errno === errnos.storageEngineError) return noSpaceMessage.test(String(message));
  return noWriteErrnos.has(errno);
}

/** Whether a whole transaction failed for a reason that another run may not meet. */
export function isRetryable(error: unknown): boolean {
  const { errno, cause } = driverError(error);
  return retryableErrnos.has(errno) || (cause instanceof Error && isRetryable(cause));
}

/**
 * Whether a connection must not be used again after this error. Everything but an ordinary answer
 * counts: after a time-out the driver would hand the late answer to the next query.
 */
export function isConnectionSpent(error: unknown): boolean {
  const { errno, sqlState, fatal } = driverError(error);
  return sqlState === undefined || fatal === true || spentErrnos.has(errno);
}

function driverError(error: unknown): DriverError {
  return error instanceof Error ? (error as DriverError) : {};
}

/** The driver sets `errno` or a code of its own or of the socket; programming errors have neither. */
function isFromDriver(error: unknown): boolean {
  const { code, errno, fatal } = driverError(error);
  return (
    errno !== undefined || fatal === true || /^(?:PROTOCOL_|HANDSHAKE_|E[A-Z]+$)/.test(String(code))
  );
}

/** Turns what went wrong while connecting into words; `encrypted` says whether TLS was in use. */
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

/** MariaDB says no more than "access denied" where a user or the server demands TLS or a certificate. */
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
