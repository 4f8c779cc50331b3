/**
 * HTTP routes for rows of the log and their filter values in the v2 format (docs/reference/analytics.md,
 * Graphs and groups).
 */
import { z } from 'zod';
import type { Principal } from '../../../auth/principal.ts';
import { type Route, route } from '../../../http/routes/route.ts';
import { hasSucceeded } from '../../../model/logs/request-log.ts';
import { idFromBytes } from '../../../model/wire/ids.ts';
import { formatTimestamp } from '../../../model/wire/timestamp.ts';
import type { RequestLogRow } from '../../../store/logs/request-logs.ts';
import type { SumsKey } from '../../../store/logs/request-sums.ts';
import type { AdminDeps } from '../../request/deps.ts';
import { centUnits } from '../analytics/request-filter.ts';
import {
  openRequestQueries,
  pageByNumber,
  type RequestQueries,
} from '../analytics/request-queries.ts';
import { feedbackOf } from '../row-feedback.ts';
import { plainQuery, TelemetryQuery } from './telemetry-query.ts';

const valuesMax = 1000;

const text = z.string();
const flag = z.int().min(0).max(1);
const LogRecord = z.object({
  id: z.uuid(),
  trace_id: text,
  created_at: text,
  workspace_slug: text,
  api_key_id: text,
  ai_org: text,
  ai_model: text,
  _user: text,
  total_units: z.number(),
  cost: z.number(),
  is_success: flag,
  is_proxy_call: flag,
  cache_status: text,
  mode: text,
  retry_success_count: z.int(),
  last_used_option_index: z.int(),
  response_status_code: z.int(),
  request_url: text,
  request_method: text,
  prompt_slug: text,
  license_id: text,
  log_store_file_path_format: text,
  feedback: z.array(z.unknown()),
  metadataKey: z.array(text),
  metadataValue: z.array(text),
});
const Logs = z.object({
  success: z.literal(true),
  data: z.object({
    records: z.array(LogRecord),
    total: z.int(),
    capturedTotal: z.int(),
    isQuotaExceeded: z.literal(false),
  }),
});

const number = z.number().nullable();
const texts = z.array(text);
const Boundaries = z.object({
  success: z.literal(true),
  data: z.object({
    total_units_max: number,
    total_units_min: number,
    cost_max: number,
    cost_min: number,
    unique_ai_models: z.array(z.object({ ai_model: text, ai_organisation: text })),
    unique_status_codes: z.array(z.int()),
    unique_environments: texts,
    unique_prompt_ids: texts,
    unique_virtual_keys: texts,
    unique_configs: texts,
    unique_api_keys: texts,
    unique_metadata_keys: texts,
    isQuotaExceeded: z.literal(false),
  }),
});

export function telemetryLogRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      mounts: { v2: ['access-token', 'session'] },
      method: 'GET',
      path: '/logs',
      scope: 'logs.list',
      summary: 'List the model requests of a workspace',
      query: TelemetryQuery,
      response: Logs,
      refusals: ['unplaced'],
      handle: async (request) => {
        const query = plainQuery(request);
        const page = pageByNumber(query, 'currentPage');
        const questions = await openRequestQueries(
          deps,
          request,
          query,
          'must be named',
          'ViewLogs',
        );
        const rows = await questions.rows(page);
        const { requests: total } = await questions.whole({ usesLog: true });
        const slug = questions.workspace!.slug;
        const feedbackOfRow = await feedbackOf(deps.database.readable, rows);
        const data = {
          records: rows.map((row) => ({ ...recordOf(row, slug), feedback: feedbackOfRow(row) })),
          total,
          capturedTotal: total,
          isQuotaExceeded: false as const,
        };
        return { success: true as const, data };
      },
    }),
    route({
      mounts: { v2: ['access-token', 'session'] },
      method: 'GET',
      path: '/analytics/filter-boundaries',
      scope: 'analytics.view',
      summary: 'Get the values by which the requests of a workspace can be filtered',
      query: TelemetryQuery,
      response: Boundaries,
      refusals: ['unplaced'],
      handle: async (request) => {
        const query = plainQuery(request);
        const questions = await openRequestQueries(deps, request, query, 'must be named');
        return { success: true as const, data: await boundariesOf(questions) };
      },
    }),
  ];
}

async function boundariesOf(
  questions: RequestQueries,
): Promise<z.infer<typeof Boundaries>['data']> {
  const whole = await questions.whole({ usesLog: true, onlyModels: true });
  const sharedBy = async (...by: SumsKey[]) => {
    const sums = await questions.sum({ usesLog: true, by, limit: valuesMax });
    return sums.map(({ shared }) => shared.map((value) => String(value ?? '')));
  };
  const valuesOf = async (key: SumsKey) => (await sharedBy(key)).flat().filter((one) => one !== '');
  const models = await sharedBy('provider', 'model');
  const cents = (units: number | null) => (units === null ? null : units / centUnits);
  return {
    total_units_max: whole.tokensMost,
    total_units_min: whole.tokensLeast,
    cost_max: cents(whole.costUnitsMost),
    cost_min: cents(whole.costUnitsLeast),
    unique_ai_models: models.map(([ai_organisation = '', ai_model = '']) => {
      return { ai_model, ai_organisation };
    }),
    unique_status_codes: (await valuesOf('status')).map(Number),
    unique_environments: await valuesOf({ metadata: '_environment' }),
    unique_prompt_ids: await valuesOf('prompt_slug'),
    unique_virtual_keys: await valuesOf('provider'),
    unique_configs: await valuesOf('config_id'),
    unique_api_keys: await valuesOf('api_key_id'),
    unique_metadata_keys: await questions.keys(),
    isQuotaExceeded: false,
  };
}

/** Fields that the log does not have are empty, not absent, because clients expect every field. */
function recordOf(
  row: RequestLogRow,
  workspaceSlug: string,
): Omit<z.infer<typeof LogRecord>, 'feedback'> {
  const metadata = Object.entries(JSON.parse(row.metadata) as Record<string, unknown>);
  const target = /\[(\d+)\]$/.exec(row.target_path ?? '');
  return {
    id: idFromBytes(row.id),
    trace_id: row.trace_id,
    workspace_slug: workspaceSlug,
    created_at: formatTimestamp(row.ended_at - row.duration_ms),
    api_key_id: row.api_key_id ?? '',
    ai_org: row.provider ?? '',
    ai_model: row.model ?? row.requested_model ?? '',
    _user: String(metadata.find(([key]) => key === '_user')?.[1] ?? ''),
    total_units: (row.input_tokens ?? 0) + (row.output_tokens ?? 0),
    cost: (row.cost_units ?? 0) / centUnits,
    is_success: hasSucceeded(row) ? 1 : 0,
    is_proxy_call: row.endpoint === 'other' ? 1 : 0,
    cache_status: row.cache_status ?? '',
    retry_success_count: row.status < 400 ? Math.max(0, row.retries) : 0,
    last_used_option_index: target === null ? 0 : Number(target[1]),
    response_status_code: row.status,
    request_url: row.endpoint,
    request_method: 'POST',
    mode: '',
    prompt_slug: row.prompt_slug ?? '',
    license_id: '',
    log_store_file_path_format: '',
    metadataKey: metadata.map(([key]) => key),
    metadataValue: metadata.map(([, value]) => String(value)),
  };
}
