/** Knows how the server is told to end what nobody waits for any more. */
import type { QueryError } from 'mysql2';
import { type Connector, connectTimeoutMs, discard } from './connect.ts';

const unknownThread = 1094;

/**
 * Ends a connection of the same user with the statement it runs, which the server would otherwise
 * finish, locks held, before it notices that its client has gone. One that has ended is no error.
 */
export async function killConnection(connector: Connector, threadId: number): Promise<void> {
  const connection = await connector.open();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const kill = { sql: 'KILL ?', values: [threadId], timeout: connectTimeoutMs };
  connection.query(kill, (error: QueryError | null) =>
    error === null || error.errno === unknownThread ? resolve() : reject(error),
  );
  try {
    await promise;
  } finally {
    discard(connection);
  }
}
