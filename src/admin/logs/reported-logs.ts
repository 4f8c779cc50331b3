/**
 * HTTP route by which callers add requests made elsewhere to the log (docs/reference/analytics.md, Reported
 * requests).
 */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { type ReportedLog, ReportedLogs, toLogValues } from '../../model/logs/reported-log.ts';
import { priceTableVersion } from '../../model/pricing/price-origin.ts';
import { lookUpPrice } from '../../model/pricing/price-table.ts';
import { costUnits } from '../../model/pricing/pricing.ts';
import { idFromBytes, newIdBytesAt } from '../../model/wire/ids.ts';
import { writeBatch } from '../../store/logs/logged-requests.ts';
import { type RequestLogRow, writeRow } from '../../store/logs/request-logs.ts';
import { type AdminDeps, everyMount } from '../request/deps.ts';
import type { BodyRequest } from '../request/frame-fields.ts';
import { resolveWorkspace } from '../request/scoping.ts';

const Receipt = z.object({
  success: z.literal(true),
  status: z.literal('success'),
  message: z.string(),
  log_ids: z.array(z.uuid()),
});

export function reportedLogRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      mounts: everyMount,
      method: 'POST',
      path: '/logs',
      scope: 'logs.write',
      summary: 'Add requests that were made elsewhere to the log',
      body: ReportedLogs,
      response: Receipt,
      handle: (request) => create(deps, request),
    }),
  ];
}

async function create({ database }: AdminDeps, request: BodyRequest<ReportedLogs>) {
  const { caller } = request;
  const places = new Map<string | null, string | null>();
  const rows: RequestLogRow[] = [];
  for (const entry of [request.body].flat()) {
    const named = entry.workspace_id ?? null;
    if (!places.has(named)) {
      const workspace = await resolveWorkspace(database.readable, caller, named);
      places.set(named, workspace?.id ?? null);
    }
    rows.push(await rowOf(request, entry, places.get(named)!));
  }
  const batch = { rows: rows.map((row) => writeRow(row)), losses: [] };
  await database.transaction((tx) => writeBatch(tx, batch, false));
  return {
    success: true as const,
    status: 'success' as const,
    message: 'The requests were added to the log',
    log_ids: rows.map(({ id }) => idFromBytes(id)),
  };
}

/** The row ends at the time of the report, and its usage counts towards no limit. */
async function rowOf(
  { caller, now }: Pick<BodyRequest<unknown>, 'caller' | 'now'>,
  entry: ReportedLog,
  workspaceId: string | null,
): Promise<RequestLogRow> {
  const values = toLogValues(entry);
  const { service, model, usage } = values;
  const price = service === null || usage === null ? null : await lookUpPrice(service, model, now);
  const id = newIdBytesAt(now);
  return {
    organisation_id: caller.organisationId,
    ended_at: now,
    id,
    trace_id: values.traceId ?? idFromBytes(id),
    workspace_id: workspaceId,
    api_key_id: caller.kind === 'api-key' ? caller.id : null,
    config_id: null,
    prompt_slug: null,
    endpoint: values.endpoint,
    status: values.status,
    error_code: null,
    provider: values.provider,
    requested_model: model,
    model,
    answered_model: values.answeredModel,
    target_path: null,
    retries: 0,
    cache_status: null,
    guardrail_verdict: null,
    is_stream: Number(values.isStream),
    duration_ms: values.durationMs,
    first_byte_ms: null,
    input_tokens: usage?.inputTokens ?? null,
    output_tokens: usage?.outputTokens ?? null,
    cached_input_tokens: usage?.cachedInputTokens ?? null,
    cache_write_tokens: usage?.cacheWriteTokens ?? null,
    cost_units: price === null || usage === null ? null : costUnits(price, usage),
    is_estimated: 0,
    price_source: price === null ? null : 'table',
    price_version: price === null ? null : priceTableVersion,
    earlier_attempts: null,
    metadata: JSON.stringify(values.metadata),
    is_reported: 1,
    guardrails: null,
    guardrail_checks: null,
    guardrail_check_ms: null,
    mcp_server: null,
    mcp_name: null,
    dropped_members: null,
    target_selection: null,
  };
}
