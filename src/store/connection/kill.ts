/** Knows how the server is told to end what nobody waits for any more. */
import type { Connection as PromiseConnection, RowDataPacket } from 'mysql2/promise';
import { type Connector, discard } from './connect.ts';

const unknownThread = 1094;

/** A connection of the same user, by its number, with a statement that has run for `ranMs`. */
export interface Stuck {
  readonly threadId: number;
  readonly ranMs: number;
}

/**
 * Ends a connection with the statement it runs, which the server would otherwise finish, locks held,
 * before it notices that its client has gone. One that has ended is no error.
 */
export async function killConnection(connector: Connector, stuck: Stuck): Promise<void> {
  const connection = await connector.open();
  try {
    const ask = connection.promise();
    const { timeoutMs } = connector;
    if (await isRunning(ask, stuck, timeoutMs)) await kill(ask, stuck.threadId, timeoutMs);
  } finally {
    discard(connection);
  }
}

/** Where a balancer stands before several servers, the number may be somebody else's at this one. */
async function isRunning(
  ask: PromiseConnection,
  { threadId, ranMs }: Stuck,
  timeout: number,
): Promise<boolean> {
  // Whole seconds, of which the server may have counted one less.
  const [rows] = await ask.query<RowDataPacket[]>({
    sql: `SELECT id FROM information_schema.processlist
      WHERE id = ? AND command <> 'Sleep' AND time >= ?`,
    values: [threadId, Math.floor(ranMs / 1000) - 1],
    timeout,
  });
  return rows.length > 0;
}

async function kill(ask: PromiseConnection, threadId: number, timeout: number): Promise<void> {
  try {
    await ask.query({ sql: 'KILL ?', values: [threadId], timeout });
  } catch (error) {
    if ((error as { errno?: unknown }).errno !== unknownThread) throw error;
  }
}
