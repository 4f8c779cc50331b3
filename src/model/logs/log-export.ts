/** Defines exports of the request log: fields, filters, settings and states. */
import { z } from 'zod';
import { commaList } from '../wire/comma-list.ts';
import { described } from '../wire/described.ts';
import { freeText } from '../wire/resource-fields.ts';
import { RangeEnd, RangeStart } from '../wire/timestamp.ts';

/** Fields of a line in an export. */
export const exportFields = [
  'id',
  'trace_id',
  'created_at',
  'request',
  'response',
  'is_success',
  'ai_org',
  'ai_model',
  'req_units',
  'res_units',
  'total_units',
  'request_url',
  'cost',
  'cost_currency',
  'response_time',
  'response_status_code',
  'mode',
  'config',
  'prompt_slug',
  'metadata',
  'ended_at',
  'workspace_id',
  'api_key_id',
  'endpoint',
  'error_code',
  'requested_model',
  'answered_model',
  'target_path',
  'retries',
  'cache_status',
  'guardrail_verdict',
  'is_stream',
  'first_byte_ms',
  'cached_input_tokens',
  'cache_write_tokens',
  'is_estimated',
  'price_source',
  'price_version',
] as const;
export type ExportField = (typeof exportFields)[number];

export const ExportFields = z.array(z.enum(exportFields)).max(exportFields.length);

/** Export settings of a workspace or an organisation. */
export const ExportSettings = z.strictObject({
  deniedFields: described(ExportFields, 'Fields that no export of the log may contain.'),
});
export type ExportSettings = z.infer<typeof ExportSettings>;

/** `draft` becomes `in_progress` by a start, then `success`, `failed`, or `stopped` by a stop; `archived` is final. */
export const exportStatuses = [
  'draft',
  'in_progress',
  'success',
  'failed',
  'stopped',
  'archived',
] as const;
export type ExportStatus = (typeof exportStatuses)[number];

const count = z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional();
const dollars = z.number().min(0).max(1e9).optional();
const valuesMax = 100;
const value = z.string().min(1).max(255);
const score = z.number().min(-10).max(10).optional();
/** `a,b` is the same as `["a", "b"]`: either value matches. */
const values = z
  .union([z.string().max(25_600), z.array(value).max(valuesMax)])
  .transform((input) => (typeof input === 'string' ? commaList(input) : input))
  .pipe(z.array(value).min(1).max(valuesMax))
  .optional();
const statusForm = /^[1-9](?:\d\d|xx)$/;

/** Filter on metadata; numbers and booleans are converted to text, as the log stores them. */
const metadataValues = z.union([
  values.unwrap(),
  z.union([z.number(), z.boolean()]).transform((input) => [String(input)]),
]);

/** Selects the exported requests; the time range is required. */
export const ExportFilters = z.strictObject({
  time_of_generation_min: RangeStart,
  time_of_generation_max: RangeEnd,
  total_units_min: count,
  total_units_max: count,
  prompt_token_min: count,
  prompt_token_max: count,
  completion_token_min: count,
  completion_token_max: count,
  cost_min: dollars,
  cost_max: dollars,
  ai_org: values,
  ai_model: values,
  ai_org_model: values,
  trace_id: values,
  prompt_slug: values,
  configs: values,
  api_key_ids: values,
  workspace_slug: values,
  deployment_slug: values,
  virtual_keys: values,
  status_code: values.refine((codes) => codes?.every((code) => statusForm.test(code)) ?? true, {
    error: 'must be statuses such as 429 or classes such as 4xx, separated by commas',
  }),
  metadata: z
    .record(z.string().min(1).max(255), metadataValues)
    .refine((fields) => Object.keys(fields).length <= valuesMax, { error: 'has too many keys' })
    .optional(),
  /** Ignored: an export always contains all requests. */
  page_size: z.number().optional(),
  current_page: z.number().optional(),
  weighted_feedback_min: score,
  weighted_feedback_max: score,
});
export type ExportFilters = z.infer<typeof ExportFilters>;

const sharedFields = {
  filters: described(ExportFilters, 'Filters that select the requests.'),
  requested_data: described(
    ExportFields.min(1).optional(),
    'Fields of a line; defaults to all fields that are not denied.',
  ),
  description: described(freeText(4096).optional(), 'Purpose of the export.'),
};

export const LogExportCreate = z.object(sharedFields);
export type LogExportCreate = z.infer<typeof LogExportCreate>;

const { time_of_generation_min, time_of_generation_max, ...narrowing } = ExportFilters.shape;
type Narrowing = { [K in keyof typeof narrowing]: z.ZodNullable<(typeof narrowing)[K]> };

/** An absent filter is unchanged, null removes it. */
const ExportFiltersUpdate = z.strictObject({
  time_of_generation_min: time_of_generation_min.optional(),
  time_of_generation_max: time_of_generation_max.optional(),
  ...(Object.fromEntries(
    Object.entries(narrowing).map(([name, filter]) => [name, filter.nullable()]),
  ) as Narrowing),
});
type ExportFiltersUpdate = z.infer<typeof ExportFiltersUpdate>;

/** An absent field is unchanged. */
export const LogExportUpdate = z.object({
  ...sharedFields,
  filters: described(
    ExportFiltersUpdate.optional(),
    'Filters that select the requests; an absent filter is unchanged, null removes it.',
  ),
});
export type LogExportUpdate = z.infer<typeof LogExportUpdate>;

export function mergeFilters(stored: ExportFilters, update: ExportFiltersUpdate): ExportFilters {
  const merged = Object.entries({ ...stored, ...update }).filter(([, filter]) => filter !== null);
  return ExportFilters.parse(Object.fromEntries(merged));
}

/** Formats filters as clients write them: several values as one comma-separated text. */
export function formatFilters(filters: ExportFilters): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(filters).map(([name, filter]) => [name, formatFilter(filter)]),
  );
}

function formatFilter(filter: unknown): unknown {
  if (Array.isArray(filter)) {
    return filter.some((item: string) => item.includes(',')) ? filter : filter.join(',');
  }
  if (typeof filter !== 'object' || filter === null) return filter;
  return Object.fromEntries(Object.entries(filter).map(([key, item]) => [key, formatFilter(item)]));
}

/** The selected requests, with names resolved to ids; null for all. */
export interface ExportSelection {
  readonly workspaceIds: readonly string[] | null;
  readonly configIds: readonly string[] | null;
  /** The requested keys that the author of the export may see. */
  readonly apiKeyIds: readonly string[] | null;
}
