/** HTTP routes for rate-limit policies (docs/reference/resources.md, Rate-limit policies). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import type { Reply, Route } from '../../http/routes/route.ts';
import { documentBodyLimits } from '../../model/json/body-limits.ts';
import { RateLimit } from '../../model/limits/limits.ts';
import {
  checkTargetRules,
  RateLimitPolicyCreate,
  RateLimitPolicyUpdate,
  RateTarget,
  targetFaults,
} from '../../model/limits/rate-limit-policy.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { listReply, listSchema, toPage } from '../../model/wire/paging.ts';
import { mapItems } from '../../model/wire/streamed-list.ts';
import { rejectFaults } from '../../model/wire/validation-error.ts';
import * as policies from '../../store/resources/rate-limit-policies.ts';
import { listPolicies } from '../../store/rows/policy-table.ts';
import type { AdminDeps } from '../request/deps.ts';
import {
  type BodyRequest,
  createFields,
  type ItemRequest,
  namesOfSentFields,
  type QueryRequest,
  updateFields,
} from '../request/frame-fields.ts';
import { type Resource, snapshotOf } from '../request/resource.ts';
import {
  createResource,
  deleteResource,
  type ResourceWriter,
  requireUnchanged,
  updateResource,
} from '../request/resource-change.ts';
import { resourceRoutes } from '../request/resource-routes.ts';
import { resolveWorkspace } from '../request/scoping.ts';
import { withVersionTag } from '../request/version.ts';
import {
  RateLimitPolicyRecord,
  rateLimitPolicyToRecord,
  rateLimitPolicyToSpec,
} from './rate-limit-policy-record.ts';
import {
  activeOnly,
  changedPolicy,
  findPolicy,
  newPolicy,
  PolicyListQuery,
  PolicyQuery,
} from './shared-policy.ts';
import { withServerWarnings } from './unknown-servers.ts';

const CreateBody = RateLimitPolicyCreate.extend(createFields).superRefine(checkTargetRules);
/** `target` is immutable; repeating the current value is no change. */
const UpdateBody = RateLimitPolicyUpdate.extend({
  ...updateFields,
  target: RateTarget.optional(),
});
const ListQuery = PolicyListQuery.extend({
  type: RateLimit.shape.type.optional(),
  unit: RateLimit.shape.unit.optional(),
  target: RateTarget.optional(),
});

export const rateLimitPolicyResource: Resource = {
  kind: 'RateLimitPolicy',
  features: ['policy'],
  routes: rateLimitPolicyRoutes,
  snapshot: snapshotOf(policies.listAllForOrganisation, rateLimitPolicyToSpec),
  contents: policies.contents,
};

function rateLimitPolicyRoutes(deps: AdminDeps): Route<Principal>[] {
  const on = resourceRoutes('/policies/rate-limits/:id', (action) => `policies.${action}`);
  return [
    on.create({
      summary: 'Create a rate-limit policy',
      body: CreateBody,
      bodyLimits: documentBodyLimits,
      response: z.object({ id: z.uuid(), object: z.literal('rate-limits-policy') }),
      handle: (request) => create(deps, request),
    }),
    on.list({
      summary: 'List rate-limit policies',
      query: ListQuery,
      response: listSchema(RateLimitPolicyRecord),
      handle: (request) => list(deps, request),
    }),
    on.get({
      summary: 'Get a rate-limit policy',
      query: PolicyQuery,
      response: RateLimitPolicyRecord,
      handle: (request) => get(deps, request),
    }),
    on.update({
      summary: 'Update a rate-limit policy',
      body: UpdateBody,
      bodyLimits: documentBodyLimits,
      response: z.object({}),
      handle: (request) => update(deps, request),
    }),
    on.remove({
      summary: 'Archive a rate-limit policy',
      handle: (request) => remove(deps, request),
    }),
  ];
}

/** Returns the id of the new policy. */
async function create(deps: AdminDeps, request: BodyRequest<z.infer<typeof CreateBody>>) {
  const { body } = request;
  const { type, unit, value, target = 'llm' } = body;
  const made = await createResource(deps, request, 'RateLimitPolicy', async (tx, workspace) => {
    const row = { ...newPolicy(request, workspace), type, unit, value, target };
    await policies.insert(tx, row);
    return { row, changes: { fields: namesOfSentFields(body) } };
  });
  const reply = { id: made.id, object: 'rate-limits-policy' as const };
  return await withServerWarnings(deps.database.readable, made, body.conditions, reply);
}

async function list(deps: AdminDeps, request: QueryRequest<z.infer<typeof ListQuery>>) {
  const { caller, query } = request;
  const { status, type, unit, target } = query;
  const db = deps.database.readable;
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const filter = { workspace_id: workspace?.id, status, type, unit, target };
  const page = toPage(query);
  const { rows, total } = await listPolicies(
    db,
    'rate_limit_policies',
    caller.organisationId,
    filter,
    page,
  );
  return listReply(mapItems(rows, rateLimitPolicyToRecord), total);
}

async function get(deps: AdminDeps, request: QueryRequest<z.infer<typeof PolicyQuery>>) {
  const row = await findPolicy(deps, request, policies.findById);
  if (row.status !== request.query.status) throw new ApiError('notFound');
  return withVersionTag(rateLimitPolicyToRecord(row), row);
}

const writer: ResourceWriter<policies.StoredRateLimitPolicy> = {
  kind: 'RateLimitPolicy',
  param: 'id',
  lock: activeOnly(policies.findByIdForUpdate),
  write: policies.update,
};

/** Returns `{}`. Counters of the running window continue unless type or unit changes. */
async function update(
  deps: AdminDeps,
  request: BodyRequest<z.infer<typeof UpdateBody>>,
): Promise<Record<string, never> | Reply<Record<string, never>>> {
  const { body } = request;
  const row = await updateResource(deps, request, writer, {
    columns: (_, row) => {
      requireUnchanged('target', body.target, row.target);
      rejectFaults(targetFaults({ ...body, target: row.target }));
      const { type, unit, value } = body;
      return { ...changedPolicy(body, row), type, unit, value };
    },
  });
  return await withServerWarnings(deps.database.readable, row, body.conditions, {});
}

/** Archives the policy and returns `{}`. */
function remove(deps: AdminDeps, request: ItemRequest): Promise<Record<string, never>> {
  return deleteResource(deps, request, writer, async (tx, row) => {
    await policies.update(tx, row.organisation_id, row.id, {
      status: 'archived',
      last_updated_at: request.now,
    });
    return { name: row.name };
  });
}
