/** Groups of requests in the format of clients of other gateways. */
import { z } from 'zod';
import { commaList } from '../../../model/wire/comma-list.ts';
import { wholeNumberParameter } from '../../../model/wire/paging.ts';
import { formatTimestamp } from '../../../model/wire/timestamp.ts';
import { validationError } from '../../../model/wire/validation-error.ts';
import {
  type FigureOrder,
  type RequestSums,
  type SumsKey,
  sortingFigures,
} from '../../../store/logs/request-sums.ts';
import type { AdminDeps } from '../../request/deps.ts';
import { type QueryRequest, WorkspaceQuery } from '../../request/frame-fields.ts';
import { type JudgedSums, pageOfGuardrails } from './guardrail-groups.ts';
import { filterQuery } from './request-filter.ts';
import { openRequestQueries, pageByNumber, type RequestQueries } from './request-queries.ts';
import {
  averageOf,
  averageOfModels,
  centsOf,
  hitRateOf,
  percentileOf,
  shareOf,
  tokensOf,
} from './sums-figures.ts';

const pageSizeMax = 100;
export const clientGroupQuery = {
  ...filterQuery,
  columns: z.string().max(1024).optional(),
  current_page: wholeNumberParameter(0, 999_999).default(0),
  order_by: z.string().max(64).optional(),
  order_by_type: z.enum(['asc', 'desc', 'ASC', 'DESC']).default('desc'),
  /** Accepted for clients that send it; `total` is returned in any case. */
  include_total: z.enum(['true', 'false']).optional(),
};
export const PlacedGroupQuery = WorkspaceQuery.extend({
  ...clientGroupQuery,
  page_size: wholeNumberParameter(1, pageSizeMax).default(pageSizeMax),
});

const Row = z
  .object({ object: z.literal('analytics-group'), requests: z.int() })
  .catchall(z.unknown());
export const ClientGroups = z.object({
  object: z.literal('list'),
  is_quota_exceeded: z.literal(false),
  total: z.int().min(0),
  data: z.array(Row),
});
/**
 * Groupings by the name that clients use, and the field of the group's value. Null when there is no data:
 * the gateway calls no agents.
 */
export const groupings = {
  ai_service: ['provider', 'ai_service'],
  provider: ['provider', 'provider'],
  model: ['model', 'model'],
  'ai-models': ['model', 'ai_model'],
  api_key: ['api_key_id', 'api_key'],
  status_code: ['status', 'status_code'],
  config: ['config_id', 'config'],
  workspace: ['workspace_id', 'workspace_id'],
  guardrail: ['guardrails', 'guardrail'],
  guardrails: ['guardrails', 'guardrail'],
  guardrail_check: ['guardrail_checks', 'guardrail_check'],
  'guardrail-checks': ['guardrail_checks', 'guardrail_check'],
  prompt: ['prompt_slug', 'prompt'],
  users: [{ metadata: '_user' }, 'user'],
  mcp_server: ['mcp_server', 'mcp_server'],
  'mcp-servers': ['mcp_server', 'mcp_server'],
  mcp_tool: ['mcp_tool', 'mcp_tool'],
  'mcp-tools': ['mcp_tool', 'mcp_tool'],
  a2a_agent: [null, 'a2a_agent'],
  'a2a-agents': [null, 'a2a_agent'],
} as const satisfies Record<string, readonly [SumsKey | null, string]>;

type ClientGroup = keyof typeof groupings;
export const clientGroups = Object.keys(groupings) as readonly ClientGroup[];

export function isClientGroup(name: string): name is ClientGroup {
  return Object.hasOwn(groupings, name);
}

/** Figures of each group; v2 clients select some by name. */
const figures: Readonly<Record<string, (sums: RequestSums) => number | string | null>> = {
  cost: centsOf,
  total_tokens: tokensOf,
  avg_tokens: (sums) => averageOfModels(tokensOf(sums), sums),
  avg_input_tokens: (sums) => averageOfModels(sums.input_tokens, sums),
  avg_output_tokens: (sums) => averageOfModels(sums.output_tokens, sums),
  avg_latency: (sums) => averageOf(sums.duration_ms, sums),
  p95_latency: (sums) => percentileOf(0.95, sums),
  p99_latency: (sums) => percentileOf(0.99, sums),
  success_rate: (sums) => shareOf(sums.requests - sums.errors, sums),
  error_count: ({ errors }) => errors,
  cache_hit_rate: (sums) => hitRateOf(sums),
  guardrail_passed: (sums) => sums.guardrail_passed,
  guardrail_monitored: (sums) => sums.guardrail_monitored,
  guardrail_failed: (sums) => sums.guardrail_failed,
  guardrail_denied: (sums) => sums.guardrail_denied,
  last_seen: ({ lastAt }) => (lastAt === null ? null : formatTimestamp(lastAt)),
  first_seen: ({ firstAt }) => (firstAt === null ? null : formatTimestamp(firstAt)),
};

/**
 * The requested sort order, or undefined.
 *
 * @param field the field of the group's value
 * @throws ApiError `invalid` for a field that cannot be sorted by
 */
export function orderOf(query: Sorting, field: string): FigureOrder | undefined {
  const { order_by: name, order_by_type: direction } = query;
  if (name === undefined) return undefined;
  const figure = name === field ? 'shared' : sortingFigures.find((one) => one === name);
  if (figure === undefined) {
    const message = `must be one of ${[field, ...sortingFigures].join(', ')}`;
    throw validationError({ path: ['order_by'], message });
  }
  return { figure, isAscending: direction?.toLowerCase() === 'asc' };
}

interface Sorting {
  readonly order_by?: string | undefined;
  readonly order_by_type?: string | undefined;
}

interface Cut extends Sorting {
  readonly page_size: number;
  readonly current_page: number;
  /** Requested figures, comma-separated; all when undefined. */
  readonly columns?: string | undefined;
}

/** Groups for v1 clients whose name is not one of our own. */
export async function listClientGroup(
  deps: AdminDeps,
  request: QueryRequest<z.infer<typeof PlacedGroupQuery>>,
  group: ClientGroup,
): Promise<z.infer<typeof ClientGroups>> {
  const questions = await openRequestQueries(deps, request, request.query, 'may be left out');
  return listGroups(questions, groupings[group], request.query);
}

export async function listGroups(
  questions: RequestQueries,
  [key, field]: readonly [SumsKey | null, string],
  cut: Cut,
): Promise<z.infer<typeof ClientGroups>> {
  const order = orderOf(cut, field);
  const { rows, total }: { rows: readonly JudgedSums[]; total: number } =
    key === null
      ? { rows: [], total: 0 }
      : key === 'guardrails' || key === 'guardrail_checks'
        ? await pageOfGuardrails(questions, key, cut, order)
        : await pageOfGroups(questions, key, cut, order);
  const requested = cut.columns === undefined ? undefined : commaList(cut.columns);
  const selected = Object.entries(figures).filter(([name]) => requested?.includes(name) ?? true);
  const data = rows.map((sums) => ({
    [field]: sums.shared[0] ?? null,
    requests: sums.requests,
    ...Object.fromEntries(selected.map(([name, compute]) => [name, compute(sums)])),
    ...(sums.guardrail_unjudged === undefined
      ? {}
      : { guardrail_unjudged: sums.guardrail_unjudged }),
    object: 'analytics-group' as const,
  }));
  return { object: 'list', is_quota_exceeded: false, total, data };
}

export async function pageOfGroups(
  questions: RequestQueries,
  key: SumsKey,
  cut: Pick<Cut, 'page_size' | 'current_page'>,
  order?: FigureOrder,
) {
  const page = pageByNumber(cut, 'current_page');
  const sumsRequest = { by: [key], order: order ?? ('requests' as const), ...page };
  const rows = await questions.sum(sumsRequest);
  const isLast = rows.length < page.limit && (rows.length > 0 || page.offset === 0);
  const total = isLast ? sumsRequest.offset + rows.length : await questions.count(sumsRequest);
  return { rows, total };
}
