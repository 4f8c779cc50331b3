/** HTTP routes for usage-limit policies (docs/reference/resources.md, Usage-limit policies). */

import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { documentBodyLimits } from '../../model/json/body-limits.ts';
import { checkLimitRules } from '../../model/limits/limits.ts';
import {
  UsageLimitPolicyCreate,
  UsageLimitPolicyUpdate,
} from '../../model/limits/usage-limit-policy.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { listReply, listSchema, pageQuery, toPage } from '../../model/wire/paging.ts';
import { mapItems } from '../../model/wire/streamed-list.ts';
import * as policies from '../../store/resources/usage-limit-policies.ts';
import { listPolicies } from '../../store/rows/policy-table.ts';
import { termsOf } from '../../store/usage/usage-budgets.ts';
import * as usageCounters from '../../store/usage/usage-counters.ts';
import { type AdminDeps, everyMount, forOwners } from '../request/deps.ts';
import {
  createFields,
  type QueryRequest,
  updateFields,
  WorkspaceQuery,
} from '../request/frame-fields.ts';
import { type Resource, snapshotOf } from '../request/resource.ts';
import { resourceRoutes } from '../request/resource-routes.ts';
import { resolveWorkspace } from '../request/scoping.ts';
import { withVersionTag } from '../request/version.ts';
import { findPolicy, PolicyListQuery, PolicyQuery } from './shared-policy.ts';
import {
  createUsageLimitPolicy,
  deleteUsageLimitPolicy,
  resetEntity,
  updateUsageLimitPolicy,
  windowOf,
} from './usage-limit-policy-changes.ts';
import {
  UsageEntity,
  UsageLimitPolicyRecord,
  usageLimitPolicyToEntity,
  usageLimitPolicyToRecord,
  usageLimitPolicyToSpec,
  usageLimitPolicyToUsageMap,
} from './usage-limit-policy-record.ts';

/** Counters in one response with `include_usage`; the entities list returns all, by page. */
const usageMapMax = 10_000;
const item = '/policies/usage-limits/:id';
const shared = { mounts: everyMount } as const;

const ListQuery = PolicyListQuery.extend({
  type: z.enum(['cost', 'tokens', 'requests']).optional(),
});
const GetQuery = PolicyQuery.extend({ include_usage: z.enum(['true', 'false']).optional() });
const EntitiesQuery = WorkspaceQuery.extend({
  ...pageQuery(),
  status: z.enum(['active', 'exhausted']).optional(),
  search: z.string().max(512).optional(),
});

export const usageLimitPolicyResource: Resource = {
  kind: 'UsageLimitPolicy',
  features: ['policy', 'usageLimits'],
  routes: usageLimitPolicyRoutes,
  snapshot: snapshotOf(policies.listAllForOrganisation, usageLimitPolicyToSpec),
  contents: policies.contents,
};

function usageLimitPolicyRoutes(deps: AdminDeps): Route<Principal>[] {
  const on = resourceRoutes(item, (action) => `policies.${action}`);
  return [
    on.create({
      summary: 'Create a usage-limit policy',
      body: UsageLimitPolicyCreate.extend(createFields).superRefine(checkLimitRules),
      bodyLimits: documentBodyLimits,
      response: z.object({ id: z.uuid(), object: z.literal('usage-limits-policy') }),
      handle: (request) => createUsageLimitPolicy(deps, request),
    }),
    on.list({
      summary: 'List usage-limit policies',
      query: ListQuery,
      response: listSchema(UsageLimitPolicyRecord),
      handle: (request) => list(deps, request),
    }),
    on.get({
      summary: 'Get a usage-limit policy',
      query: GetQuery,
      response: UsageLimitPolicyRecord,
      handle: (request) => get(deps, request),
    }),
    on.update({
      summary: 'Update a usage-limit policy',
      body: UsageLimitPolicyUpdate.extend(updateFields),
      bodyLimits: documentBodyLimits,
      response: z.object({}),
      handle: (request) => updateUsageLimitPolicy(deps, request),
    }),
    on.remove({
      summary: 'Archive a usage-limit policy',
      handle: (request) => deleteUsageLimitPolicy(deps, request),
    }),
    ...entityRoutes(deps),
  ];
}

function entityRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      ...shared,
      method: 'GET',
      path: `${item}/entities`,
      scope: 'policies.read',
      summary: 'List the counters of a usage-limit policy',
      query: EntitiesQuery,
      response: listSchema(UsageEntity),
      handle: (request) => listEntities(deps, request),
    }),
    route({
      ...shared,
      ...forOwners,
      method: 'PUT',
      path: `${item}/entities/:entityId/reset`,
      scope: 'policies.update',
      versioned: true,
      summary: 'Reset a counter of a usage-limit policy',
      response: z.object({}),
      handle: (request) => resetEntity(deps, request),
    }),
  ];
}

async function list(
  deps: AdminDeps,
  { caller, query, now }: QueryRequest<z.infer<typeof ListQuery>>,
) {
  const db = deps.database.readable;
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const filter = { workspace_id: workspace?.id, status: query.status, type: query.type };
  const page = toPage(query);
  const { rows, total } = await listPolicies(
    db,
    'usage_limit_policies',
    caller.organisationId,
    filter,
    page,
  );
  return listReply(
    mapItems(rows, (row) => usageLimitPolicyToRecord(row, now)),
    total,
  );
}

async function get(deps: AdminDeps, request: QueryRequest<z.infer<typeof GetQuery>>) {
  const { query, now } = request;
  const db = deps.database.readable;
  const row = await findPolicy(deps, request, policies.findById);
  if (row.status !== query.status) throw new ApiError('notFound');
  const record = usageLimitPolicyToRecord(row, now);
  if (query.include_usage !== 'true') return withVersionTag(record, row);
  const all = { limit: usageMapMax, offset: 0 };
  const { rows: counters } = await usageCounters.list(db, windowOf(row, now), {}, all);
  return withVersionTag(
    { ...record, value_key_usage_map: usageLimitPolicyToUsageMap(row, counters) },
    row,
  );
}

async function listEntities(deps: AdminDeps, request: QueryRequest<z.infer<typeof EntitiesQuery>>) {
  const { query, now } = request;
  const row = await findPolicy(deps, request, policies.findById);
  if (row.status !== 'active') throw new ApiError('notFound');
  const exhausted =
    query.status === undefined
      ? undefined
      : { is: query.status === 'exhausted', terms: termsOf(row) };
  const filter = { exhausted, search: query.search };
  const db = deps.database.readable;
  const window = windowOf(row, now);
  const { rows, total } = await usageCounters.list(db, window, filter, toPage(query));
  return listReply(
    rows.values().map((counter) => usageLimitPolicyToEntity(row, counter)),
    total,
  );
}
