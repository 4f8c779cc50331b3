/** Describes missing settings without which nothing can be served. */
import { Failure } from '../failure.ts';

export function missingMasterKey(): Failure {
  return new Failure(
    'invalidInput',
    'GATEWRIGHT_MASTER_KEY is not set. It protects every key and secret in the database, which cannot be ' +
      'read without it. Make one with `openssl rand -base64 32` and keep it safe.',
  );
}

export function missingDatabase(): Failure {
  return new Failure(
    'invalidInput',
    'No database is set. Set DB_HOST, DB_USER, DB_PASS and DB_NAME to those of a MariaDB 10.11 ' +
      'or MySQL 8 server, or run `gatewright up`, which brings its own.',
  );
}
