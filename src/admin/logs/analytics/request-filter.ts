/**
 * Parses the filters of analytics queries (docs/reference/analytics.md, Graphs and groups): lists, bounds
 * and metadata.
 */

import { z } from 'zod';
import { readJson } from '../../../model/json/read-object.ts';
import { providerNames } from '../../../model/logs/request-log.ts';
import { commaList } from '../../../model/wire/comma-list.ts';
import { isUuid } from '../../../model/wire/slug-forms.ts';
import { validationError } from '../../../model/wire/validation-error.ts';
import type { Db } from '../../../store/connection/db.ts';
import type { Bounds, LogFilter, SumsFilter } from '../../../store/logs/request-sums.ts';
import * as configs from '../../../store/resources/configs.ts';
import * as guardrails from '../../../store/resources/guardrails.ts';
import type { AdminRequest } from '../../request/deps.ts';
import { rangeQuery } from './time-range.ts';

const valuesMax = 100;
const numberMax = 1e15;

const list = z
  .string()
  .min(1)
  .max(10_000)
  .transform(commaList)
  .pipe(z.array(z.string().min(1).max(255)).max(valuesMax))
  .meta({ type: 'string' });
/** Not comma-separated, because a trace id may contain commas. */
const traces = z
  .string()
  .min(1)
  .max(10_000)
  .transform((text) => [...new Set([text, ...commaList(text)])])
  .pipe(z.array(z.string()).max(valuesMax))
  .meta({ type: 'string' });
const amount = z
  .string()
  .regex(/^\d{1,15}(?:\.\d{1,6})?$/, 'must be a number, 0 or more')
  .transform(Number)
  .pipe(z.number().max(numberMax))
  .meta({ type: 'number', minimum: 0, pattern: undefined });
const score = z
  .string()
  .regex(/^-?\d{1,2}(?:\.\d{1,6})?$/, 'must be a number from -10 to 10')
  .transform(Number)
  .pipe(z.number().min(-10).max(10))
  .meta({ type: 'number', minimum: -10, maximum: 10, pattern: undefined });
const name = z.string().min(1).max(255);
const status = z.string().regex(/^[1-9]\d\d$/, 'must be statuses such as 429');

/**
 * Query fields common to all analytics routes, in v1 spelling; v2 clients write `traceId` for `trace_id`.
 */
export const filterQuery = {
  ...rangeQuery,
  workspace_slug: name.optional(),
  api_key_id: z.uuid().optional(),
  provider: name.optional(),
  model: name.optional(),
  trace_id: traces.optional(),
  span_id: list.optional(),
  api_key_ids: list.pipe(z.array(z.uuid())).meta({ type: 'string' }).optional(),
  status_code: list.pipe(z.array(status)).meta({ type: 'string' }).optional(),
  ai_org_model: list.optional(),
  virtual_keys: list.optional(),
  configs: list.optional(),
  prompt_slug: list.optional(),
  cache_status: list.optional(),
  /** Guardrails by id or slug, any of which judged the request. */
  guardrails: list.optional(),
  metadata: z.string().min(2).max(10_000).optional(),
  total_units_min: amount.optional(),
  total_units_max: amount.optional(),
  prompt_token_min: amount.optional(),
  prompt_token_max: amount.optional(),
  completion_token_min: amount.optional(),
  completion_token_max: amount.optional(),
  cost_min: amount.optional(),
  cost_max: amount.optional(),
  weighted_feedback_min: score.optional(),
  weighted_feedback_max: score.optional(),
};
const FilterQuery = z.object(filterQuery);
export type FilterQuery = z.infer<typeof FilterQuery>;

/** Matches every row. */
export const anyOfLog: LogFilter = {
  traceIds: undefined,
  configIds: undefined,
  promptSlugs: undefined,
  cacheStatuses: undefined,
  guardrailIds: undefined,
  metadata: [],
  inputTokens: [null, null],
  outputTokens: [null, null],
  totalTokens: [null, null],
  costUnits: [null, null],
  feedback: [null, null],
};

/** A cent in micro-dollars. */
export const centUnits = 10_000;

/**
 * The filter of a query, except time range and workspace.
 *
 * @throws ApiError `invalid` for a value that no request can match
 */
export async function filterOf(
  db: Db,
  { organisationId }: Pick<AdminRequest['caller'], 'organisationId'>,
  query: FilterQuery,
): Promise<Omit<SumsFilter, 'from' | 'to' | 'workspaceId'>> {
  const log: LogFilter = {
    // The log stores no spans, so no request matches a span.
    traceIds: query.span_id === undefined ? query.trace_id : [],
    configIds: query.configs && (await configIdsOf(db, organisationId, query.configs)),
    promptSlugs: query.prompt_slug,
    cacheStatuses: query.cache_status?.map((one) => one.toUpperCase()),
    guardrailIds: query.guardrails && (await guardrailIdsOf(db, organisationId, query.guardrails)),
    metadata: query.metadata === undefined ? [] : metadataOf(query.metadata),
    inputTokens: [query.prompt_token_min ?? null, query.prompt_token_max ?? null],
    outputTokens: [query.completion_token_min ?? null, query.completion_token_max ?? null],
    totalTokens: [query.total_units_min ?? null, query.total_units_max ?? null],
    costUnits: [unitsOf(query.cost_min), unitsOf(query.cost_max)],
    feedback: [query.weighted_feedback_min ?? null, query.weighted_feedback_max ?? null],
  };
  const key = query.api_key_id === undefined ? undefined : [query.api_key_id];
  const keys = bothOf(query.api_key_ids, key);
  return {
    apiKeyIds: keys?.map((id) => id.toLowerCase()),
    provider: query.provider,
    model: query.model,
    providers: query.virtual_keys?.flatMap(providerNames),
    models: query.ai_org_model?.map(modelOf),
    statuses: query.status_code?.map(Number),
    log: isNarrowing(log) ? log : undefined,
  };
}

/** Intersection of two lists; undefined contains everything. */
export function bothOf<T>(
  one: readonly T[] | undefined,
  other: readonly T[] | undefined,
): readonly T[] | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one.filter((item) => other.includes(item));
}

function unitsOf(cents: number | undefined): number | null {
  return cents === undefined ? null : cents * centUnits;
}

function isNarrowing({ metadata, ...filter }: LogFilter) {
  const { traceIds, configIds, promptSlugs, cacheStatuses, guardrailIds, ...bounds } = filter;
  const isBound = (one: Bounds) => one.some((end) => end !== null);
  const lists = [traceIds, configIds, promptSlugs, cacheStatuses, guardrailIds];
  const named = lists.some((one) => one !== undefined);
  return named || metadata.length > 0 || Object.values(bounds).some(isBound);
}

function modelOf(text: string): { provider: string; model: string } {
  const at = text.indexOf('__');
  if (at > 0 && at + 2 < text.length) {
    return { provider: text.slice(0, at), model: text.slice(at + 2) };
  }
  throw validationError({ path: ['ai_org_model'], message: 'must be like openai__gpt-4o' });
}

/** Configs that no longer exist match no request. */
function configIdsOf(db: Db, organisationId: string, names: readonly string[]): Promise<string[]> {
  return idsOf(names, (name) => configs.findByIdOrSlug(db, organisationId, name));
}

/** An id may be that of a deleted guardrail. */
export function guardrailIdsOf(
  db: Db,
  organisationId: string,
  names: readonly string[],
): Promise<string[]> {
  return idsOf(names, async (name) =>
    isUuid(name)
      ? { id: name.toLowerCase() }
      : await guardrails.findByIdOrSlug(db, organisationId, name),
  );
}

async function idsOf(
  names: readonly string[],
  find: (name: string) => Promise<{ readonly id: string } | undefined>,
): Promise<string[]> {
  const ids: string[] = [];
  for (const name of names) {
    const found = await find(name);
    if (found !== undefined) ids.push(found.id);
  }
  return ids;
}

const metadataKey = /^[^"\\\p{Cc}]{1,128}$/u;
const metadataValue = z.union([z.string().max(1024), z.number(), z.boolean()]);
const Metadata = z.record(
  z.string().regex(metadataKey, 'must be a key without quotes and backslashes'),
  z.union([metadataValue, z.array(metadataValue).max(valuesMax)]),
);

/** Several values are alternatives, as a list or comma-separated. */
function metadataOf(text: string): LogFilter['metadata'] {
  const parsed = Metadata.safeParse(readJson(text));
  const fault = { path: ['metadata'], message: 'must be a JSON object of values by key' };
  if (!parsed.success) throw validationError(fault);
  return Object.entries(parsed.data).map(([key, value]) => ({
    key,
    values: [value].flat().flatMap((one) => commaList(String(one))),
  }));
}

export const MetadataKey = z
  .string()
  .regex(metadataKey, 'must be a key without quotes and backslashes');
