/**
 * Tests the classification of database errors: a change that is rejected for now is 503, a
 * programming error is not.
 */
import { expect, it } from 'vitest';
import {
  DatabaseUnavailable,
  isRetryable,
  isTemporary,
  isUnavailable,
  isWriteRefusal,
} from '../../../src/store/connection/unavailable.ts';

function driverError(errno: number, message = ''): Error {
  return Object.assign(new Error(message), { errno, code: 'ER_X', sqlState: 'HY000' });
}

it.each([
  [3, "Error writing file '/tmp/MLfd' (Errcode: 28)"],
  [20, 'Disk got full writing'],
  [1021, 'Disk full (/tmp/#sql); waiting for someone to free some space... (errno: 28)'],
  [1026, "Error writing file 'binlog' (errno: 28)"],
  [1030, "Got error 28 'No space left on device' from storage engine InnoDB"],
  [1030, "Got error 122 'Disk quota exceeded' from storage engine InnoDB"],
  [1114, "The table 'audit_log' is full"],
  [1290, 'The MariaDB server is running with the --read-only option'],
  [1836, 'Running in read-only mode'],
  [1878, 'Temporary file write failure.'],
])(
  'treats %i %s as a change that is rejected for now, without an immediate retry',
  (errno, message) => {
    const error = driverError(errno, message);
    expect([isWriteRefusal(error), isUnavailable(error), isRetryable(error)]).toEqual([
      true,
      true,
      false,
    ]);
    expect(isUnavailable(new Error('wrapped', { cause: error }))).toBe(true);
  },
);

it.each([
  [1030, "Got error 1 'Operation not permitted' from storage engine InnoDB"],
  [1062, "Duplicate entry '28' for key 'PRIMARY'"],
  [1064, 'You have an error in your SQL syntax near 28'],
])('treats %i %s as something else', (errno, message) => {
  const error = driverError(errno, message);
  expect([isWriteRefusal(error), isUnavailable(error)]).toEqual([false, false]);
});

const transport = (code: string, message = code): Error =>
  Object.assign(new Error(message), { code, fatal: true });

it.each([
  transport('ECONNREFUSED'),
  transport('ENOTFOUND'),
  transport('PROTOCOL_CONNECTION_LOST'),
  transport('HANDSHAKE_SSL_ERROR', 'Client network socket disconnected before secure TLS'),
  driverError(1040, 'Too many connections'),
  driverError(1053, 'Server shutdown in progress'),
  driverError(1290, 'The MariaDB server is running with the --read-only option'),
])('treats %o as possibly over at the next try', (error) => {
  expect(isTemporary(new DatabaseUnavailable('Cannot use the database', { cause: error }))).toBe(
    true,
  );
});

it.each([
  driverError(1044, 'Access denied for user to database'),
  driverError(1045, 'Access denied for user (using password: YES)'),
  driverError(1049, 'Unknown database'),
  driverError(1130, 'Host is not allowed to connect'),
  driverError(3118, 'Account is locked'),
  driverError(3159, 'Connections using insecure transport are prohibited'),
  transport('HANDSHAKE_NO_SSL_SUPPORT'),
  transport('HANDSHAKE_SSL_ERROR', 'self-signed certificate in certificate chain'),
])('treats %o as permanent', (error) => {
  const failure = new DatabaseUnavailable('Cannot use the database', { cause: error });
  expect([isUnavailable(failure), isTemporary(failure)]).toEqual([true, false]);
});

it('treats a programming error as permanent', () => {
  expect(isTemporary(new TypeError('undefined is not a function'))).toBe(false);
});
