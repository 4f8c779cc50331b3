/**
 * Builds the environment variables that give a child process its database and the timeouts of
 * tests.
 */
import type { DatabaseSettings } from '../../../src/settings.ts';

export function databaseVariables(database: DatabaseSettings): Record<string, string> {
  const { poolWaitSeconds, statementSeconds, connectTimeoutSeconds } = database;
  const patience = {
    GATEWRIGHT_DB_POOL_WAIT_SECONDS: poolWaitSeconds,
    GATEWRIGHT_DB_STATEMENT_SECONDS: statementSeconds,
    GATEWRIGHT_DB_CONNECT_TIMEOUT_SECONDS: connectTimeoutSeconds,
  };
  return {
    DB_HOST: database.host,
    DB_PORT: String(database.port),
    DB_USER: database.user,
    DB_PASS: database.password?.reveal() ?? '',
    DB_NAME: database.name,
    DB_SSL: 'DISABLED',
    ...Object.fromEntries(
      Object.entries(patience).flatMap(([name, seconds]) =>
        seconds === undefined ? [] : [[name, String(seconds)]],
      ),
    ),
  };
}
