/** HTTP routes for integrations (docs/reference/resources.md, Integrations). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import type { Route } from '../../http/routes/route.ts';
import { documentBodyLimits } from '../../model/json/body-limits.ts';
import {
  DefaultProvider,
  IntegrationCreate,
  IntegrationUpdate,
} from '../../model/providers/integration.ts';
import { listReply, listSchema, pageQuery, toPage } from '../../model/wire/paging.ts';
import { mapItems } from '../../model/wire/streamed-list.ts';
import type { Db } from '../../store/connection/db.ts';
import * as integrationWorkspaces from '../../store/resources/integration-workspaces.ts';
import * as integrations from '../../store/resources/integrations.ts';
import type { RowCondition } from '../../store/rows/resource-table.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import {
  createFields,
  type ItemRequest,
  type QueryRequest,
  updateFields,
  WorkspaceQuery,
} from '../request/frame-fields.ts';
import { type Resource, snapshotOf } from '../request/resource.ts';
import { resourceRoutes } from '../request/resource-routes.ts';
import { requireOwnOrganisation, resolveWorkspace } from '../request/scoping.ts';
import { withVersionTag } from '../request/version.ts';
import { findReadable, integrationScopes } from './integration-access.ts';
import { createIntegration, deleteIntegration, updateIntegration } from './integration-changes.ts';
import {
  type GrantedIntegration,
  IntegrationItem,
  IntegrationRecord,
  integrationToItem,
  integrationToRecord,
  integrationToSpec,
  type ServiceForm,
} from './integration-record.ts';

const CreateBody = IntegrationCreate.extend({ ...createFields, ...DefaultProvider.shape });
const UpdateBody = IntegrationUpdate.extend(updateFields);
const ListQuery = WorkspaceQuery.extend({
  organisation_id: createFields.organisation_id,
  type: z.enum(['organisation', 'workspace', 'all']).default('all'),
  ...pageQuery(),
});

export const integrationResource: Resource = {
  kind: 'Integration',
  features: [],
  routes: integrationRoutes,
  snapshot: snapshotOf(listGranted, integrationToSpec),
  contents: integrations.contents,
};

/** Reads all integrations with their grants, with one query per table. */
async function listGranted(
  tx: Db,
  organisationId: string,
  which: RowCondition | null,
): Promise<GrantedIntegration[]> {
  const rows = await integrations.listAllForOrganisation(tx, organisationId, which);
  const grants = await integrationWorkspaces.listAllForOrganisation(tx, organisationId);
  const byIntegration = Map.groupBy(grants, ({ integration_id: id }) => id);
  return rows.map((row) => ({ ...row, grants: byIntegration.get(row.id) ?? [] }));
}

function integrationRoutes(deps: AdminDeps): Route<Principal>[] {
  const on = resourceRoutes('/integrations/:integrationId', integrationScopes.either);
  return [
    on.create({
      summary: 'Create an integration; its service is not contacted',
      body: CreateBody,
      bodyLimits: documentBodyLimits,
      response: z.object({ id: z.uuid(), slug: z.string() }),
      handle: (request) => createIntegration(deps, request),
    }),
    on.list({
      summary: 'List integrations',
      query: ListQuery,
      response: listSchema(IntegrationItem),
      handle: (request) => list(deps, request),
    }),
    on.get({
      summary: 'Get an integration; secrets are masked',
      query: WorkspaceQuery,
      response: IntegrationRecord,
      handle: (request) => get(deps, request),
    }),
    on.update({
      summary:
        'Update an integration; fields that are not sent stay, a masked secret keeps its value',
      body: UpdateBody,
      bodyLimits: documentBodyLimits,
      ignoredFields: ['id', 'ai_provider_id', 'organisation_id'],
      response: z.object({}),
      handle: (request) => updateIntegration(deps, request),
    }),
    on.remove({
      summary: 'Delete an integration that no provider uses, except automatically created ones',
      handle: (request) => deleteIntegration(deps, request),
    }),
  ];
}

async function list(deps: AdminDeps, request: QueryRequest<z.infer<typeof ListQuery>>) {
  const { caller, query } = request;
  const { organisationId } = caller;
  const db = deps.database.readable;
  requireOwnOrganisation(caller, query.organisation_id);
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const type = integrationScopes.visible(caller, query.type);
  const filter = { workspaceId: workspace?.id, type };
  const stored = await integrations.list(db, organisationId, filter, toPage(query));
  const counts = await integrationWorkspaces.countEnabled(db, organisationId, stored.ids);
  const form = serviceForm(request);
  return listReply(
    mapItems(stored.rows, (row) => integrationToItem(row, counts.get(row.id) ?? 0, form)),
    stored.total,
  );
}

async function get(deps: AdminDeps, request: ItemRequest) {
  const { caller } = request;
  const db = deps.database.readable;
  const row = await findReadable(db, request);
  const counts = await integrationWorkspaces.countEnabled(db, caller.organisationId, [row.id]);
  return withVersionTag(
    integrationToRecord(row, counts.get(row.id) ?? 0, serviceForm(request)),
    row,
  );
}

/** v1 clients identify services by slug, clients of the other mounts by id. */
function serviceForm({ mount }: Pick<AdminRequest, 'mount'>): ServiceForm {
  return mount === 'v1' ? 'slug' : 'id';
}
