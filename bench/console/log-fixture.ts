/** Fills an organisation with 10,000 keys and millions of log rows by statements of the database itself. */
import type { Connection } from 'mysql2/promise';

export interface FixtureSize {
  readonly keys: number;
  readonly rows: number;
  /** The rows end evenly in this time before `now`. */
  readonly days: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const secondMs = 1000;
const rowsPerInsert = 250_000;
const workspaces = 50;
const configs = 200;

/** UUIDs that differ in their last digits. */
const uuid = (number: string): string =>
  `CONCAT('00000000-0000-4000-8000-', LPAD(LOWER(HEX(${number})), 12, '0'))`;

const keyIdOf = (number: number): string =>
  `00000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`;

/** Names of values that few rows have, which the filters of the log look for. */
export const rare = {
  model: 'rare-model',
  provider: '@rare',
  status: '503',
  server: 'rare-server',
};
export const frequent = { model: 'model-3', provider: '@provider-1', key: keyIdOf(1) };

export async function fillLog(
  connection: Connection,
  tsgId: string,
  size: FixtureSize,
): Promise<void> {
  const organisation = await organisationOf(connection, tsgId);
  await addWorkspaces(connection, organisation, size);
  await addKeys(connection, organisation, size);
  await cutIntoDays(connection, size);
  for (let first = 0; first < size.rows; first += rowsPerInsert) {
    await addRows(connection, organisation, size, first);
  }
  await addTotals(connection, organisation);
  // As a server does by itself, whose statistics are persistent; those of the tests are not.
  await connection.query('ANALYZE TABLE request_logs, request_totals');
}

/** Adds requests of all keys that have ended in the second before `now`. */
export async function addEndedRequests(
  connection: Connection,
  tsgId: string,
  count: number,
  now: number,
): Promise<void> {
  const organisation = await organisationOf(connection, tsgId);
  const size = { keys: 10_000, rows: count, days: secondMs / dayMs, now };
  await addRows(connection, organisation, size, 0);
  await connection.query(
    `INSERT INTO request_log_batches (organisation_id, stored_at, id, first_ended_at, last_ended_at)
     VALUES (?, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000,
       UNHEX(REPLACE(UUID(), '-', '')), ?, ?)`,
    [organisation, now - secondMs, now],
  );
}

async function organisationOf(connection: Connection, tsgId: string): Promise<string> {
  const [found] = await connection.query('SELECT id FROM organisations WHERE tsg_id = ?', [tsgId]);
  return (found as { id: string }[])[0]!.id;
}

async function addWorkspaces(
  connection: Connection,
  organisation: string,
  { now }: FixtureSize,
): Promise<void> {
  await connection.query(
    `INSERT INTO workspaces (id, organisation_id, name, slug, status, created_by, created_at,
       last_updated_at)
     SELECT ${uuid('seq')}, ?, CONCAT('workspace ', seq), CONCAT('workspace-', seq), 'active', 'bench', ?, ?
     FROM seq_0_to_${workspaces - 1}`,
    [organisation, now, now],
  );
}

async function addKeys(
  connection: Connection,
  organisation: string,
  { keys, now }: FixtureSize,
): Promise<void> {
  await connection.query(
    `INSERT INTO api_keys (id, organisation_id, workspace_id, name, type, key_mask, status,
       creation_mode, scopes, created_by, created_at, last_updated_at)
     SELECT ${uuid('seq')}, ?, ${uuid(`seq % ${workspaces}`)}, CONCAT('key ', seq),
       'workspace-service', 'ab*****xyz', 'active', 'api', '["completions.write"]', 'bench',
       ? + seq, ? + seq
     FROM seq_0_to_${keys - 1}`,
    [organisation, now - dayMs, now - dayMs],
  );
}

/** As the job delete-old-logs does, which does not run here. */
async function cutIntoDays(connection: Connection, { days, now }: FixtureSize): Promise<void> {
  const last = Math.ceil(now / dayMs) * dayMs;
  const ends = Array.from({ length: days + 1 }, (_, at) => last - (days - at) * dayMs);
  const parts = ends.map((end) => `PARTITION before_${end} VALUES LESS THAN (${end})`).join(', ');
  await connection.query(
    `ALTER TABLE request_logs REORGANIZE PARTITION later INTO (${parts}, PARTITION later VALUES LESS THAN MAXVALUE)`,
  );
}

/** A few keys have most of the requests. One row in twenty is a call of an MCP server. */
async function addRows(
  connection: Connection,
  organisation: string,
  { keys, rows, days, now }: FixtureSize,
  first: number,
): Promise<void> {
  const count = Math.min(rowsPerInsert, rows - first);
  const stepMs = (days * dayMs) / rows;
  await connection.query(
    `INSERT INTO request_logs (organisation_id, ended_at, id, trace_id, workspace_id, api_key_id, config_id,
       endpoint, status, error_code, provider, requested_model, model, target_path, retries, cache_status,
       guardrail_verdict, is_stream, duration_ms, first_byte_ms, input_tokens, output_tokens,
       cached_input_tokens, cache_write_tokens, cost_units, is_estimated, metadata, is_reported,
       mcp_server, mcp_name)
     SELECT ?, ended_at,
       UNHEX(CONCAT(LPAD(HEX(ended_at), 12, '0'), '7', LPAD(HEX(FLOOR(RAND() * 4096)), 3, '0'), '8',
         SUBSTR(MD5(n), 1, 15))),
       MD5(n), ${uuid(`api_key % ${workspaces}`)}, ${uuid('api_key')}, ${uuid(`api_key % ${configs}`)},
       IF(is_mcp, 'tools/call', 'chat_completions'), status, IF(status < 400, NULL, 'upstream_error'),
       IF(is_mcp, NULL, IF(is_rare, '${rare.provider}', CONCAT('@provider-', api_key % 6))),
       IF(is_mcp, NULL, 'a-model'),
       IF(is_mcp, NULL, IF(is_rare, '${rare.model}', CONCAT('model-', (api_key + FLOOR(r2 * 2)) % 12))),
       IF(is_mcp, NULL, 'targets[0]'), 0, IF(r1 < 0.1, 'HIT', 'MISS'),
       IF(status = 446, 'denied', IF(r2 < 0.5, 'passed', NULL)), 0, 100 + FLOOR(r3 * 3000), 90,
       IF(is_mcp, NULL, 100 + FLOOR(r3 * 1000)), IF(is_mcp, NULL, 50), 0, 0, IF(is_mcp, NULL, 10 + FLOOR(r1 * 1000)), 0,
       CONCAT('{"_user":"user-', api_key % 500, '","team":"team-', api_key % 30, '"}'), 0,
       IF(is_mcp, IF(is_rare, '${rare.server}', CONCAT('server-', api_key % 20)), NULL),
       IF(is_mcp, CONCAT('tool-', api_key % 7), NULL)
     FROM (
       SELECT n, r1, r2, r3, ? + FLOOR(n * ?) AS ended_at, FLOOR(${keys} * POW(r1, 3)) AS api_key,
         r2 < 0.05 AS is_mcp, n % 100003 IN (0, 1) AS is_rare,
         CASE WHEN n % 100003 = 2 THEN ${rare.status} WHEN r3 < 0.01 THEN 429 WHEN r3 < 0.015 THEN 446
           WHEN r3 < 0.018 THEN 500 WHEN r3 < 0.02 THEN 502 WHEN r3 < 0.022 THEN 401 ELSE 200 END AS status
       FROM (SELECT seq AS n, RAND(seq) AS r1, RAND(seq + 7) AS r2, RAND(seq + 13) AS r3
             FROM seq_${first}_to_${first + count - 1}) AS numbers
     ) AS drawn`,
    [organisation, now - days * dayMs, stepMs],
  );
}

const latencyBounds = [100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000];

async function addTotals(connection: Connection, organisation: string): Promise<void> {
  const within = latencyBounds.map((bound) => `within_${bound}_ms`).join(', ');
  const sums = latencyBounds.map((bound) => `SUM(duration_ms <= ${bound})`).join(', ');
  await connection.query(
    `INSERT INTO request_totals (organisation_id, began_at, id, workspace_id, api_key_id, provider, model,
       status, requests, mcp_requests, mcp_errors, unlogged_requests, cache_hits, guardrail_passed,
       guardrail_failed, guardrail_monitored, guardrail_denied, input_tokens, output_tokens,
       cached_input_tokens, cost_units, duration_ms, ${within})
     SELECT organisation_id, ended_at - ended_at % ${hourMs} AS hour,
       UNHEX(MD5(CONCAT_WS('|', ended_at - ended_at % ${hourMs}, api_key_id, provider, model, status,
         mcp_server IS NULL))),
       workspace_id, api_key_id, provider, model, status, COUNT(*), SUM(mcp_server IS NOT NULL),
       SUM(mcp_server IS NOT NULL AND status >= 400), 0, SUM(cache_status = 'HIT'),
       COALESCE(SUM(guardrail_verdict = 'passed'), 0), 0, 0, COALESCE(SUM(guardrail_verdict = 'denied'), 0),
       COALESCE(SUM(input_tokens), 0), COALESCE(SUM(output_tokens), 0), 0, COALESCE(SUM(cost_units), 0),
       SUM(duration_ms), ${sums}
     FROM request_logs WHERE organisation_id = ?
     GROUP BY hour, workspace_id, api_key_id, provider, model, status, mcp_server IS NULL`,
    [organisation],
  );
}
