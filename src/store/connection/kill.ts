/** Kills a connection whose statement has timed out. */
import type { Connection as PromiseConnection, RowDataPacket } from 'mysql2/promise';
import { type Connector, closeSocket } from './connect.ts';

const unknownThread = 1094;

/** A connection of the same user whose statement has run for `ranMs`. */
export interface Stuck {
  readonly threadId: number;
  readonly ranMs: number;
}

/**
 * Kills a connection with its statement, which the server would otherwise finish with its locks before it
 * notices that the client is gone. A connection that has ended is no error.
 */
export async function killConnection(connector: Connector, stuck: Stuck): Promise<void> {
  const connection = await connector.open();
  try {
    const ask = connection.promise();
    const { timeoutMs } = connector;
    if (await isRunning(ask, stuck, timeoutMs)) await kill(ask, stuck.threadId, timeoutMs);
  } finally {
    closeSocket(connection);
  }
}

/** Behind a load balancer the connection number may belong to another client of this server. */
async function isRunning(
  ask: PromiseConnection,
  { threadId, ranMs }: Stuck,
  timeout: number,
): Promise<boolean> {
  // The server counts whole seconds and may be one behind.
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
