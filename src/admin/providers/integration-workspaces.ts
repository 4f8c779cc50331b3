/** HTTP routes for the access and limits of workspaces to an integration of the organisation. */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { GrantUsageLimits, WorkspaceRateLimits } from '../../model/limits/workspace-limits.ts';
import {
  type DefaultProvider,
  IntegrationWorkspacesPut,
} from '../../model/providers/integration.ts';
import {
  accessValueKey,
  hasLimits,
  type IntegrationAccess,
  workspaceIntegrationFaults,
} from '../../model/providers/integration-access.ts';
import { readDocument, rewriteDocument } from '../../model/wire/json-record.ts';
import { pageQuery, toPage } from '../../model/wire/paging.ts';
import {
  formatTimestamp,
  formatTimestampOrNull,
  ResponseTimestamp,
} from '../../model/wire/timestamp.ts';
import { rejectFaults } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as integrationWorkspaces from '../../store/resources/integration-workspaces.ts';
import type * as integrations from '../../store/resources/integrations.ts';
import {
  type BudgetState,
  listStates,
  listStatesByValue,
} from '../../store/usage/usage-budgets.ts';
import { resolveWorkspaceGrants } from '../access/granted-workspaces.ts';
import { type AdminDeps, everyMount, forOwners } from '../request/deps.ts';
import {
  type BodyRequest,
  type QueryRequest,
  updateFields,
  WorkspaceQuery,
} from '../request/frame-fields.ts';
import { updateResource } from '../request/resource-change.ts';
import { withVersionTag } from '../request/version.ts';
import { ensureProvider } from './default-provider.ts';
import { findReadable, integrationScopes } from './integration-access.ts';
import { integrationWriter, updateAccessBudget } from './integration-changes.ts';
import {
  type IntegrationGrant,
  replacingAccess,
  writeIntegrationGrants,
} from './integration-grants.ts';
import { GlobalAccess, globalAccessOf } from './integration-record.ts';

const path = '/integrations/:integrationId/workspaces';

const PutBody = IntegrationWorkspacesPut.extend({
  workspace_id: updateFields.workspace_id,
  // The spelling of another client of this API.
  override_existing_workspaces_access: z.boolean().optional(),
});
const ListQuery = WorkspaceQuery.extend(pageQuery());

const Grant = z.object({
  /** Id of the workspace. */
  id: z.uuid(),
  enabled: z.boolean(),
  // Null for none, because some clients do not accept an empty list.
  usage_limits: GrantUsageLimits.nullable(),
  rate_limits: WorkspaceRateLimits.nullable(),
  status: z.enum(['active', 'exhausted']),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
  last_reset_at: ResponseTimestamp.nullable(),
});
const GrantList = z.object({
  object: z.literal('list'),
  total: z.int().min(0),
  workspaces: z.array(Grant),
  global_workspace_access: GlobalAccess,
});

type PutRequest = BodyRequest<z.infer<typeof PutBody>>;
type SentGrant = NonNullable<PutRequest['body']['workspaces']>[number];

export function integrationWorkspaceRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      mounts: everyMount,
      method: 'GET',
      path,
      scope: integrationScopes.either('read'),
      summary: 'List the workspace grants of an integration',
      query: ListQuery,
      response: GrantList,
      handle: (request) => list(deps, request),
    }),
    route({
      mounts: everyMount,
      ...forOwners,
      method: 'PUT',
      path,
      versioned: true,
      scope: integrationScopes.either('update'),
      summary: 'Grant or deny workspaces the use of an integration; others stay as they are',
      body: PutBody,
      response: z.object({}),
      handle: (request) => put(deps, request),
    }),
  ];
}

async function list(deps: AdminDeps, request: QueryRequest<z.infer<typeof ListQuery>>) {
  const { caller, query, now } = request;
  const { organisationId } = caller;
  const db = deps.database.readable;
  const row = await findReadable(db, request);
  if (row.workspace_id !== null) return withVersionTag(ownWorkspace(row, row.workspace_id), row);
  const { rows, total } = await integrationWorkspaces.list(
    db,
    organisationId,
    row.id,
    toPage(query),
  );
  const states = await budgetStates(db, row, rows, now);
  const list: z.infer<typeof GrantList> = {
    object: 'list',
    total,
    workspaces: rows.map((grant) => toGrant(grant, states.get(grant.id))),
    global_workspace_access: globalAccessOf(row),
  };
  return withVersionTag(list, row);
}

/** Budget state by id of the grant: its own budget, else the one that applies to all workspaces. */
async function budgetStates(
  db: Db,
  { organisation_id: organisationId, id }: integrations.StoredIntegration,
  rows: readonly integrationWorkspaces.StoredIntegrationWorkspace[],
  now: number,
): Promise<Map<string, BudgetState>> {
  const ids = rows.map((row) => row.id);
  const states = await listStates(db, organisationId, 'integration_workspace', ids, now);
  const without = rows.filter(({ usage_limits: own }) => !hasLimits(own));
  const keyOf = (row: { workspace_id: string }) => accessValueKey(row.workspace_id);
  const subject = { organisationId, kind: 'integration', id } as const;
  const shared = await listStatesByValue(db, subject, without.map(keyOf), now);
  for (const row of without) {
    const state = shared.get(keyOf(row));
    if (state !== undefined) states.set(row.id, { ...state, lastResetAt: null });
  }
  return states;
}

/** Grants of an integration that belongs to one workspace. */
function ownWorkspace(
  row: integrations.StoredIntegration,
  workspaceId: string,
): z.infer<typeof GrantList> {
  const grant = {
    id: workspaceId,
    enabled: true,
    usage_limits: null,
    rate_limits: null,
    status: 'active' as const,
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
    last_reset_at: null,
  };
  return {
    object: 'list',
    total: 1,
    workspaces: [grant],
    global_workspace_access: globalAccessOf(row),
  };
}

function toGrant(
  row: integrationWorkspaces.StoredIntegrationWorkspace,
  budget: BudgetState | undefined,
): z.infer<typeof Grant> {
  const resets = [row.last_reset_at, budget?.lastResetAt ?? null].filter((at) => at !== null);
  return {
    id: row.workspace_id,
    enabled: row.enabled !== 0,
    usage_limits: limitsOf<z.infer<typeof GrantUsageLimits>>(row.usage_limits),
    rate_limits: limitsOf<z.infer<typeof WorkspaceRateLimits>>(row.rate_limits),
    status: budget?.isExhausted === true ? 'exhausted' : 'active',
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
    last_reset_at: formatTimestampOrNull(resets.length === 0 ? null : Math.max(...resets)),
  };
}

function limitsOf<L extends readonly unknown[]>(stored: string | null): L | null {
  const limits = readDocument<L>(stored);
  return limits === null || limits.length === 0 ? null : limits;
}

async function put(deps: AdminDeps, request: PutRequest): Promise<Record<string, never>> {
  const { body } = request;
  await updateResource(deps, request, integrationWriter, {
    columns: (_, row) => {
      if (row.workspace_id !== null) rejectFaults(workspaceIntegrationFaults(body));
      const stored = row.global_workspace_access;
      const access = body.global_workspace_access && {
        ...readDocument<IntegrationAccess>(stored),
        ...body.global_workspace_access,
      };
      return { global_workspace_access: rewriteDocument(stored, replacingAccess(access, stored)) };
    },
    writeElsewhere: async (tx, row) => {
      const { organisation_id: organisationId } = row;
      const sent = await resolveWorkspaceGrants(tx, organisationId, body.workspaces ?? []);
      const grants = [
        ...(await overriddenGrants(tx, row, body, sent)),
        ...sent.map(toIntegrationGrant),
      ];
      const writing = { deps, author: request, integration: row, isWhole: false };
      const isChanged = await writeIntegrationGrants(tx, writing, grants);
      for (const grant of sent) {
        const slug = defaultProviderSlug(body, grant);
        if (slug === null) continue;
        const making = { deps, author: request, integration: row };
        await ensureProvider(tx, making, grant.workspaceId, slug);
      }
      return isChanged ? ['workspaces'] : [];
    },
    follow: (tx, row, changed) => updateAccessBudget(tx, { deps, author: request }, row, changed),
  });
  return {};
}

function toIntegrationGrant(
  sent: Omit<SentGrant, 'id'> & { workspaceId: string },
): IntegrationGrant {
  const { workspaceId, enabled, usage_limits, rate_limits, reset_usage: resets } = sent;
  return {
    workspaceId,
    enabled,
    usage_limits,
    rate_limits,
    resetsUsage: resets === true || resets === 1,
  };
}

/** With `override_existing_workspace_access`, existing grants get the global setting. */
async function overriddenGrants(
  tx: Db,
  row: integrations.StoredIntegration,
  body: PutRequest['body'],
  sent: readonly { readonly workspaceId: string }[],
): Promise<IntegrationGrant[]> {
  const overrides =
    body.override_existing_workspace_access ?? body.override_existing_workspaces_access ?? false;
  if (!overrides || body.global_workspace_access === undefined) return [];
  const { enabled, usage_limits: budget, rate_limits: rates } = body.global_workspace_access;
  const named = new Set(sent.map(({ workspaceId }) => workspaceId));
  const stored = await integrationWorkspaces.listByIntegration(tx, row.organisation_id, row.id);
  return stored
    .filter(({ workspace_id: id }) => !named.has(id))
    .map(({ workspace_id: workspaceId }) => ({
      workspaceId,
      enabled,
      // A workspace without limits of its own has the global ones.
      usage_limits: budget === undefined ? undefined : null,
      rate_limits: rates === undefined ? undefined : null,
    }));
}

/** The requested slug, undefined for a generated one, or null when no provider is to be created. */
function defaultProviderSlug(
  body: DefaultProvider,
  grant: DefaultProvider & { readonly enabled: boolean },
): string | undefined | null {
  const isWanted = grant.create_default_provider ?? body.create_default_provider ?? true;
  if (!grant.enabled || !isWanted) return null;
  return grant.default_provider_slug ?? body.default_provider_slug;
}
