/**
 * HTTP routes for providers: a workspace's use of an integration (docs/reference/resources.md, Providers).
 */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import type { Route } from '../../http/routes/route.ts';
import { ProviderCreate, ProviderUpdate, RateLimitsInput } from '../../model/providers/provider.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { listReply, listSchema, pageQuery, toPage } from '../../model/wire/paging.ts';
import * as integrations from '../../store/resources/integrations.ts';
import * as providers from '../../store/resources/providers.ts';
import * as usageBudgets from '../../store/usage/usage-budgets.ts';
import type { AdminDeps } from '../request/deps.ts';
import {
  createFields,
  type ItemRequest,
  type QueryRequest,
  updateFields,
  WorkspaceQuery,
} from '../request/frame-fields.ts';
import { type Resource, snapshotOf } from '../request/resource.ts';
import { resourceRoutes } from '../request/resource-routes.ts';
import { findOr404, resolveWorkspace } from '../request/scoping.ts';
import { withVersionTag } from '../request/version.ts';
import {
  createProvider,
  deleteProvider,
  findProvider,
  updateProvider,
} from './provider-changes.ts';
import {
  ProviderItem,
  ProviderRecord,
  providerToFields,
  providerToItem,
  providerToSpec,
} from './provider-record.ts';

const rate_limits = RateLimitsInput.nullable().optional();
const CreateBody = ProviderCreate.extend({ ...createFields, rate_limits });
const UpdateBody = ProviderUpdate.extend({ ...updateFields, rate_limits });
export const ProviderListQuery = WorkspaceQuery.extend(pageQuery({ sizeDefault: 50 }));
const Receipt = z.object({ id: z.uuid(), slug: z.string(), object: z.literal('provider') });

export const providerResource: Resource = {
  kind: 'Provider',
  features: [],
  routes: providerRoutes,
  snapshot: snapshotOf(providers.listAllForOrganisation, providerToSpec),
  contents: providers.contents,
};

function providerRoutes(deps: AdminDeps): Route<Principal>[] {
  const on = resourceRoutes('/providers/:providerId', (action) => `providers.${action}`);
  return [
    on.create({
      summary: 'Create a provider: let a workspace send requests through an integration',
      body: CreateBody,
      ignoredFields: ['ai_provider_id', 'model_config'],
      response: Receipt,
      handle: async (request) => receipt(await createProvider(deps, request)),
    }),
    on.list({
      summary: 'List providers',
      query: ProviderListQuery,
      response: listSchema(ProviderItem),
      handle: (request) =>
        listProviderItems(deps, request, (fields) => providerToItem(toRecord(fields))),
    }),
    on.get({
      summary: 'Get a provider',
      query: WorkspaceQuery,
      response: ProviderRecord,
      handle: (request) => getProvider(deps, request, toRecord),
    }),
    on.update({
      summary: 'Update a provider; fields that are not sent stay',
      body: UpdateBody,
      ignoredFields: ['id', 'integration_id', 'model_config'],
      response: Receipt,
      handle: async (request) => receipt(await updateProvider(deps, request)),
    }),
    on.remove({
      summary: 'Delete a provider',
      handle: (request) => deleteProvider(deps, request),
    }),
  ];
}

function receipt({ id, slug }: { readonly id: string; readonly slug: string }) {
  return { id, slug, object: 'provider' as const };
}

type Fields = ReturnType<typeof providerToFields>;

function toRecord(fields: Fields) {
  return { ...fields, object: 'provider' as const };
}

/** A page of providers, each converted by `toItem`. */
export async function listProviderItems<Item>(
  deps: AdminDeps,
  request: QueryRequest<z.infer<typeof ProviderListQuery>>,
  toItem: (fields: Fields) => Item,
) {
  const { caller, query, now } = request;
  const { organisationId } = caller;
  const db = deps.database.readable;
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const filter = { workspaceId: workspace?.id };
  const { rows, total } = await providers.list(db, organisationId, filter, toPage(query));
  const ids = rows.map(({ id }) => id);
  const budgets = await usageBudgets.listStates(db, organisationId, 'provider', ids, now);
  const integrationIds = [...new Set(rows.map(({ integration_id: id }) => id))];
  const named = await integrations.listByIds(db, organisationId, integrationIds);
  const integrationById = new Map(named.map((row) => [row.id, row]));
  // A provider whose integration was deleted between the two reads is being deleted too.
  const data = rows.values().flatMap((row) => {
    const integration = integrationById.get(row.integration_id);
    if (integration === undefined) return [];
    return [toItem(providerToFields(row, integration, budgets.get(row.id), now))];
  });
  return listReply(data, total);
}

/** One provider, converted by `toItem`. */
export async function getProvider<Item extends object>(
  deps: AdminDeps,
  request: ItemRequest,
  toItem: (fields: Fields) => Item,
) {
  const { caller, params, query, now } = request;
  const { organisationId } = caller;
  const db = deps.database.readable;
  const provider = await findProvider(db, caller, params.providerId!, query.workspace_id);
  const row = findOr404(caller, provider);
  const integration = await integrations.findByIdOrSlug(db, organisationId, row.integration_id);
  if (integration === undefined) throw new ApiError('notFound');
  const subject = { organisationId, kind: 'provider', id: row.id } as const;
  const budget = await usageBudgets.findState(db, subject, now);
  return withVersionTag(toItem(providerToFields(row, integration, budget, now)), row);
}
