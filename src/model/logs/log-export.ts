/** Knows exports of the log of requests: what may be asked for, of which requests, and what one becomes. */
import { z } from 'zod';
import { commaList } from '../wire/comma-list.ts';
import { described } from '../wire/described.ts';
import { freeText } from '../wire/resource-fields.ts';
import { StretchEnd, StretchStart } from '../wire/timestamp.ts';

/** What a line may tell of a request. */
export const exportFields = [
  ...(['id', 'trace_id', 'created_at', 'request', 'response', 'is_success', 'ai_org'] as const),
  ...(['ai_model', 'req_units', 'res_units', 'total_units', 'request_url', 'cost'] as const),
  ...(['cost_currency', 'response_time', 'response_status_code', 'mode', 'config'] as const),
  ...(['prompt_slug', 'metadata', 'ended_at', 'workspace_id', 'api_key_id'] as const),
  ...(['endpoint', 'error_code', 'requested_model', 'answered_model', 'target_path'] as const),
  ...(['retries', 'cache_status', 'guardrail_verdict', 'is_stream', 'first_byte_ms'] as const),
  ...(['cached_input_tokens', 'cache_write_tokens', 'is_estimated'] as const),
] as const;
export type ExportField = (typeof exportFields)[number];

export const ExportFields = z.array(z.enum(exportFields)).max(exportFields.length);

/** What a workspace or an organisation says of its exports. */
export const ExportSettings = z.strictObject({
  deniedFields: described(ExportFields, 'What no export of the log may hold.'),
});
export type ExportSettings = z.infer<typeof ExportSettings>;

/** From `draft` on `start`; `success`, `failed` and `stopped` by themselves or by a word; `archived` for good. */
export const exportStatuses = [
  ...(['draft', 'in_progress', 'success', 'failed', 'stopped', 'archived'] as const),
] as const;
export type ExportStatus = (typeof exportStatuses)[number];

const count = z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional();
const dollars = z.number().min(0).max(1e9).optional();
const valuesMax = 100;
const value = z.string().min(1).max(255);
const score = z.number().min(-10).max(10).optional();
/** `a,b` means either, and so does `["a", "b"]`. */
const values = z
  .union([z.string().max(25_600), z.array(value).max(valuesMax)])
  .transform((sent) => (typeof sent === 'string' ? commaList(sent) : sent))
  .pipe(z.array(value).min(1).max(valuesMax))
  .optional();
const statusForm = /^[1-9](?:\d\d|xx)$/;

/** Of metadata: numbers and flags are those that the log has as text. */
const toldValues = z.union([
  values.unwrap(),
  z.union([z.number(), z.boolean()]).transform((sent) => [String(sent)]),
]);

/** Which requests. Those of no stretch of time are none. */
export const ExportFilters = z.strictObject({
  time_of_generation_min: StretchStart,
  time_of_generation_max: StretchEnd,
  ...{ total_units_min: count, total_units_max: count },
  ...{ prompt_token_min: count, prompt_token_max: count },
  ...{ completion_token_min: count, completion_token_max: count },
  ...{ cost_min: dollars, cost_max: dollars },
  ...{ ai_org: values, ai_model: values, ai_org_model: values, trace_id: values },
  ...{
    prompt_slug: values,
    configs: values,
    api_key_ids: values,
    workspace_slug: values,
    deployment_slug: values,
    virtual_keys: values,
  },
  status_code: values.refine((codes) => codes?.every((code) => statusForm.test(code)) ?? true, {
    error: 'must be statuses such as 429, or classes such as 4xx, with commas',
  }),
  metadata: z
    .record(z.string().min(1).max(255), toldValues)
    .refine((fields) => Object.keys(fields).length <= valuesMax, { error: 'has too many keys' })
    .optional(),
  /** All are exported, whichever page is asked for. */
  ...{ page_size: z.number().optional(), current_page: z.number().optional() },
  ...{ weighted_feedback_min: score, weighted_feedback_max: score },
});
export type ExportFilters = z.infer<typeof ExportFilters>;

const shared = {
  filters: described(ExportFilters, 'Which requests.'),
  requested_data: described(
    ExportFields.min(1).optional(),
    'What a line tells; all that is not denied when left out.',
  ),
  description: described(freeText(4096).optional(), 'What it is for.'),
};

export const LogExportCreate = z.object(shared);
export type LogExportCreate = z.infer<typeof LogExportCreate>;

const { time_of_generation_min, time_of_generation_max, ...narrowing } = ExportFilters.shape;
type Narrowing = { [K in keyof typeof narrowing]: z.ZodNullable<(typeof narrowing)[K]> };

/** Absent ones stay, null takes one away. */
const ExportFiltersUpdate = z.strictObject({
  time_of_generation_min: time_of_generation_min.optional(),
  time_of_generation_max: time_of_generation_max.optional(),
  ...(Object.fromEntries(
    Object.entries(narrowing).map(([name, filter]) => [name, filter.nullable()]),
  ) as Narrowing),
});
type ExportFiltersUpdate = z.infer<typeof ExportFiltersUpdate>;

/** Absent fields stay. */
export const LogExportUpdate = z.object({
  ...shared,
  filters: described(
    ExportFiltersUpdate.optional(),
    'Which requests; what is left out of it stays, and null takes a filter away.',
  ),
});
export type LogExportUpdate = z.infer<typeof LogExportUpdate>;

export function mergedFilters(stored: ExportFilters, sent: ExportFiltersUpdate): ExportFilters {
  const kept = Object.entries({ ...stored, ...sent }).filter(([, filter]) => filter !== null);
  return ExportFilters.parse(Object.fromEntries(kept));
}

/** Filters as clients write them, and read them: several values as one text, between commas. */
export function toldFilters(filters: ExportFilters): Record<string, unknown> {
  return Object.fromEntries(Object.entries(filters).map(([name, filter]) => [name, told(filter)]));
}

function told(filter: unknown): unknown {
  if (Array.isArray(filter)) {
    return filter.some((one: string) => one.includes(',')) ? filter : filter.join(',');
  }
  if (typeof filter !== 'object' || filter === null) return filter;
  return Object.fromEntries(Object.entries(filter).map(([key, one]) => [key, told(one)]));
}

/** Which requests, with names looked up; null for all. */
export interface ExportSelection {
  readonly workspaceIds: readonly string[] | null;
  readonly configIds: readonly string[] | null;
  /** Those that its author may see, and has asked for. */
  readonly apiKeyIds: readonly string[] | null;
}
