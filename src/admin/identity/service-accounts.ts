/** HTTP routes for service accounts, the clients of the Admin API (docs/reference/access.md, Service accounts). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { serviceAccountPrincipal } from '../../model/people/access-policy.ts';
import {
  ServiceAccountCreate,
  ServiceAccountRotate,
  ServiceAccountUpdate,
} from '../../model/people/service-account.ts';
import { listReply, listSchema, pageQuery, toPage } from '../../model/wire/paging.ts';
import { ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type { Db } from '../../store/connection/db.ts';
import * as profiles from '../../store/people/service-account-profiles.ts';
import * as organisations from '../../store/resources/organisations.ts';
import { rotationOfRow } from '../access/rotation-record.ts';
import { type AdminDeps, everyMount, forOwners } from '../request/deps.ts';
import {
  createFields,
  type ItemRequest,
  type QueryRequest,
  updateFields,
  WorkspaceQuery,
} from '../request/frame-fields.ts';
import { type Resource, snapshotOf } from '../request/resource.ts';
import { resourceRoutes } from '../request/resource-routes.ts';
import { findIn, idOr404, requireOwnOrganisation, resolveWorkspace } from '../request/scoping.ts';
import { withVersionTag } from '../request/version.ts';
import {
  createServiceAccount,
  deleteServiceAccount,
  updateServiceAccount,
} from './service-account-changes.ts';
import {
  type AccountWithRoles,
  ServiceAccountRecord,
  serviceAccountToRecord,
  serviceAccountToSpec,
} from './service-account-record.ts';
import { rolesByName } from './service-account-roles.ts';
import { rotateServiceAccount, secretRotateFields } from './service-account-rotation.ts';

/** Gateway keys are refused: whoever manages identities does so as an account or a person. */
const mounts = { v2: everyMount.v2, admin: everyMount.admin } as const;
const path = '/service-accounts/:accountId';

const CreateBody = ServiceAccountCreate.extend({
  ...createFields,
  client_secret: secretRotateFields.client_secret,
});
const CreateReply = z.object({
  id: z.uuid(),
  client_id: z.string(),
  client_secret: z.string(),
  object: z.literal('service-account'),
});
const RotateReply = z.object({
  id: z.uuid(),
  client_secret: z.string(),
  /** Null while the previous secret waits for the delivery of this one. */
  secret_transition_expires_at: ResponseTimestamp.nullable(),
});
const ListQuery = WorkspaceQuery.extend({
  organisation_id: createFields.organisation_id,
  search: z.string().max(255).optional(),
  ...pageQuery(),
});

export const serviceAccountResource: Resource = {
  kind: 'ServiceAccount',
  features: [],
  routes: (deps) => serviceAccountRoutes(deps).map((one) => ({ ...one, mounts })),
  snapshot: snapshotOf(
    async (tx, organisationId, which) => {
      const rows = await profiles.listAllForOrganisation(tx, organisationId, which);
      const organisation = await organisations.findById(tx, organisationId);
      return organisation === undefined ? [] : complete(tx, organisation.tsg_id, rows);
    },
    serviceAccountToSpec,
    rotationOfRow,
  ),
  contents: profiles.contents,
};

function serviceAccountRoutes(deps: AdminDeps): Route<Principal>[] {
  const on = resourceRoutes(path, (action) => `service_accounts.${action}`);
  return [
    {
      ...on.create({
        summary: 'Create a service account; its secret is returned only here',
        body: CreateBody,
        response: CreateReply,
        handle: (request) => createServiceAccount(deps, request),
      }),
      returnsCredentialOf: 'ServiceAccount',
    },
    on.list({
      summary: 'List service accounts',
      query: ListQuery,
      response: listSchema(ServiceAccountRecord),
      handle: (request) => list(deps, request),
    }),
    on.get({
      summary: 'Get a service account',
      query: WorkspaceQuery,
      response: ServiceAccountRecord,
      handle: (request) => get(deps, request),
    }),
    on.update({
      summary: 'Update, disable or enable a service account; fields that are not sent stay',
      body: ServiceAccountUpdate.extend(updateFields),
      ignoredFields: ['id', 'name', 'client_id', 'organisation_id'],
      response: z.object({}),
      handle: (request) => updateServiceAccount(deps, request),
    }),
    on.remove({
      summary: 'Delete a service account with its roles',
      handle: (request) => deleteServiceAccount(deps, request),
    }),
    route({
      ...forOwners,
      mounts,
      method: 'POST',
      path: `${path}/rotate`,
      returnsCredentialOf: 'ServiceAccount',
      scope: 'service_accounts.rotate',
      versioned: true,
      summary: 'Rotate the secret of a service account; the previous one stays valid for a while',
      query: WorkspaceQuery,
      body: ServiceAccountRotate.extend(secretRotateFields),
      response: RotateReply,
      handle: (request) => rotateServiceAccount(deps, request),
    }),
  ];
}

async function list(deps: AdminDeps, { caller, query }: QueryRequest<z.infer<typeof ListQuery>>) {
  const db = deps.database.readable;
  requireOwnOrganisation(caller, query.organisation_id);
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const filter = { organisation_id: caller.organisationId, workspace_id: workspace?.id };
  const page = await profiles.listMatching(db, filter, toPage(query), query.search);
  const accounts = await complete(db, caller.tsgId, page.rows);
  return listReply(accounts.values().map(serviceAccountToRecord), page.total);
}

async function get(deps: AdminDeps, { caller, params, query }: ItemRequest) {
  const db = deps.database.readable;
  const finding = profiles.findById(db, caller.organisationId, idOr404(params.accountId!));
  const row = await findIn(db, caller, query.workspace_id, finding);
  const [account] = await complete(db, caller.tsgId, [row]);
  return withVersionTag(serviceAccountToRecord(account!), row);
}

/** Adds the client id and the roles. */
async function complete(
  db: Db,
  tsgId: string,
  rows: readonly profiles.StoredServiceAccountProfile[],
): Promise<AccountWithRoles[]> {
  const roles = await rolesByName(db, tsgId, rows);
  return rows.map((row) => ({
    ...row,
    client_id: serviceAccountPrincipal(row.name, tsgId),
    roles: [...(roles.get(row.name) ?? [])],
  }));
}
