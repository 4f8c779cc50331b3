/** HTTP routes for the caller's organisation (docs/reference/resources.md, Organisations). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { formatTimestamp } from '../../model/wire/timestamp.ts';
import {
  OrganisationInfo,
  OrganisationRecord,
  OrganisationUpdate,
} from '../../model/workspaces/organisation.ts';
import { hasRequestTotals } from '../../store/logs/request-totals.ts';
import type * as organisations from '../../store/resources/organisations.ts';
import { type AdminDeps, everyMount } from '../request/deps.ts';
import { featureFlags } from '../request/feature-flags.ts';
import { type BodyRequest, requireUpdate, updateBodyMeta } from '../request/frame-fields.ts';
import { withVersionTag } from '../request/version.ts';
import {
  changeOrganisation,
  findOrganisation,
  type OrganisationRequest,
} from './organisation-changes.ts';

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
        const row = await findOrganisation(deps, request);
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
  ];
}

async function update(deps: AdminDeps, request: BodyRequest<OrganisationUpdate>) {
  const { body } = request;
  requireUpdate(body);
  const { id } = await changeOrganisation(deps, request, (row) => {
    const { name = row.name, api_key_max_ttl_days = row.api_key_max_ttl_days } = body;
    return { name, api_key_max_ttl_days };
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
  const row = await findOrganisation(deps, request);
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
