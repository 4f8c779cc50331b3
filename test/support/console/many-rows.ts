/** Fills an organisation with as many keys and requests as a large one has. */
import { randomUUID } from 'node:crypto';
import { RequestLog } from '../../../src/gateway/logs/request-log.ts';
import { apiKeyRow, insertApiKeys } from '../rows/api-key-row.ts';
import { requestRecord } from '../rows/request-records.ts';
import type { TestServer } from '../server/server.ts';

const writeMs = 60_000;
/** The writer queues 20,000 requests. */
const recordedAtOnce = 5000;

/** Adds keys that are named `key 0` and so on, and returns their ids. */
export async function addManyKeys(server: TestServer, count: number): Promise<string[]> {
  const { organisationId: organisation_id, database } = server;
  const rows = Array.from({ length: count }, (_, at) =>
    apiKeyRow({ id: randomUUID(), organisation_id, name: `key ${at}`, created_at: at }),
  );
  await insertApiKeys(database.db, rows);
  return rows.map(({ id }) => id);
}

interface ManyRequests {
  readonly count: number;
  /** Milliseconds since the epoch; the others end one millisecond earlier each. */
  readonly lastEndedAt: number;
  /** Keys that take turns. */
  readonly apiKeyIds: readonly string[];
  /** Cost of a request in micro-dollars. */
  readonly costUnits?: number;
  readonly status?: number;
}

/** Writes requests as the gateway does: rows of the log and the totals of their hours. */
export async function addManyRequests(server: TestServer, many: ManyRequests): Promise<void> {
  const { count, lastEndedAt, apiKeyIds, costUnits = 1, status = 200 } = many;
  const durationMs = 100;
  for (let first = 0; first < count; first += recordedAtOnce) {
    const losses: unknown[] = [];
    const log = new RequestLog({
      database: server.database,
      onLoss: (error) => losses.push(error),
      bounds: { flushEveryMs: 1, retryMs: 1 },
    });
    for (let at = first; at < Math.min(count, first + recordedAtOnce); at++) {
      const apiKeyId = apiKeyIds[at % apiKeyIds.length]!;
      const startedAt = lastEndedAt - (count - 1 - at) - durationMs;
      const more = { startedAt, durationMs, apiKeyId, costUnits, status };
      log.record(requestRecord(server.organisationId, more));
    }
    await log.close(writeMs);
    if (losses.length > 0) throw losses[0];
  }
}
