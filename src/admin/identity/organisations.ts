/** HTTP routes for the caller's organisation (docs/reference/resources.md, Organisations). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { formatTimestamp } from '../../model/wire/timestamp.ts';
import {
  OrganisationAuthSettings,
  OrganisationInfo,
  OrganisationRecord,
  OrganisationUpdate,
} from '../../model/workspaces/organisation.ts';
import { hasRequestTotals } from '../../store/logs/request-totals.ts';
import * as organisations from '../../store/resources/organisations.ts';
import { auditChange } from '../request/change.ts';
import { type AdminDeps, type AdminRequest, everyMount } from '../request/deps.ts';
import { featureFlags } from '../request/feature-flags.ts';
import { type BodyRequest, requireUpdate, updateBodyMeta } from '../request/frame-fields.ts';
import { requireOwnOrganisation, requireWholeOrganisation } from '../request/scoping.ts';
import { requireVersion, withVersionTag } from '../request/version.ts';

/** Mounts on which clients call these routes. */
const mounts = { v1: everyMount.v1, admin: everyMount.admin } as const;
const success = z.literal(true);

export function organisationRoutes(deps: AdminDeps): Route<Principal>[] {
  const read = { mounts, method: 'GET', scope: 'organisation_settings.read' } as const;
  return [
    route({
      ...read,
      path: '/organisations/self',
      summary: 'Get the organisation of the caller',
      response: z.object({ success, data: OrganisationRecord }),
      handle: async (request) => {
        const row = await find(deps, request);
        return withVersionTag({ success: true as const, data: toRecord(row) }, row);
      },
    }),
    route({
      mounts,
      method: 'PUT',
      path: '/organisations/self',
      scope: 'organisation_settings.update',
      versioned: true,
      summary: 'Change the name of the organisation of the caller, or the lifetime of its keys',
      body: OrganisationUpdate.meta(updateBodyMeta),
      response: z.object({ success, data: z.object({ id: z.uuid() }) }),
      handle: (request) => update(deps, request),
    }),
    route({
      ...read,
      path: '/organisations/:tsgId/info',
      summary: 'Get the features and limits of the organisation of the caller',
      response: OrganisationInfo,
      handle: (request) => info(deps, request),
    }),
    route({
      ...read,
      path: '/organisations/:tsgId/auth-settings',
      summary: 'Get the sign-in settings of the organisation of the caller',
      response: z.object({ success, data: OrganisationAuthSettings }),
      handle: async (request) => {
        await find(deps, request);
        return { success: true as const, data: authSettings(deps) };
      },
    }),
  ];
}

type OrganisationRequest = Pick<AdminRequest, 'caller' | 'params'>;

/** @throws ApiError `forbidden` for a caller bound to a workspace, `notFound` for another organisation */
function requireOwn({ caller, params }: OrganisationRequest): void {
  requireWholeOrganisation(caller);
  requireOwnOrganisation(caller, params.tsgId);
}

async function find(
  { database }: AdminDeps,
  request: OrganisationRequest,
): Promise<organisations.StoredOrganisation> {
  requireOwn(request);
  const row = await organisations.findById(database.readable, request.caller.organisationId);
  if (row === undefined) throw new ApiError('notFound');
  return row;
}

/** Setting the current values again is no change. */
async function update(deps: AdminDeps, request: BodyRequest<OrganisationUpdate>) {
  const { body, caller, now } = request;
  requireOwn(request);
  requireUpdate(body);
  const id = caller.organisationId;
  await deps.database.transaction(async (tx) => {
    const row = await organisations.findByIdForUpdate(tx, id);
    if (row === undefined) throw new ApiError('notFound');
    requireVersion(request, row.version);
    const { name = row.name, api_key_max_ttl_days = row.api_key_max_ttl_days } = body;
    const columns = { name, api_key_max_ttl_days };
    const names = Object.keys(columns) as (keyof typeof columns)[];
    const fields = names.filter((field) => columns[field] !== row[field]);
    if (fields.length === 0) return;
    await organisations.update(tx, id, { ...columns, last_updated_at: now });
    await auditChange(tx, deps, request, {
      action: 'update',
      kind: 'Organisation',
      resourceId: id,
      workspaceId: null,
      changes: { fields },
    });
  });
  return { success: true as const, data: { id } };
}

function sharedOf(row: organisations.StoredOrganisation) {
  return {
    id: row.id,
    object: 'organisation' as const,
    name: row.name,
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at ?? row.created_at),
  };
}

function toRecord(row: organisations.StoredOrganisation): OrganisationRecord {
  const { tsg_id, api_key_max_ttl_days } = row;
  return { ...sharedOf(row), tsg_id, api_key_max_ttl_days };
}

async function info(deps: AdminDeps, request: OrganisationRequest): Promise<OrganisationInfo> {
  const row = await find(deps, request);
  const hasRequests = await hasRequestTotals(deps.database.readable, row.id);
  return {
    ...sharedOf(row),
    is_first_generation_done: Number(hasRequests),
    disable_portkey_gateway: 0,
    settings: {
      dashboard_gateway_url: '',
      dashboard_mcp_gateway_url: '',
      debug_log: 0,
      user_api_key_count: 0,
      user_api_key_ttl: 0,
      user_api_key_max_ttl: row.api_key_max_ttl_days ?? 0,
      user_key_metadata: 0,
      user_key_metadata_override: 0,
      user_api_key_rotation_period: null,
      user_api_key_auto_create: false,
      default_workspace_user_api_key_auto_create: false,
    },
    benefits: { limits: {}, featureFlags: featureFlags(deps) },
    subscription: { type: 'self_hosted', name: 'gatewright' },
  };
}

function authSettings({ signIn }: AdminDeps): OrganisationAuthSettings {
  const none = { domains: [], scim_token: null };
  if (signIn === null) return { auth_settings: {}, ...none };
  const { issuer, clientId, scopes, roles, groupsClaim, provisions, proof } = signIn.settings;
  const auth_settings = {
    issuer: issuer.href,
    client_id: clientId,
    scopes,
    role_claim: roles?.claim ?? null,
    groups_claim: groupsClaim,
    disable_auto_provision_user: !provisions,
    token_endpoint_auth_method: proof.method,
    jwks: proof.method === 'private_key_jwt' ? { keys: [proof.publicKey] } : null,
  };
  return { auth_settings, ...none };
}
