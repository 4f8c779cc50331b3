/** HTTP routes for the sign-in settings of the caller's organisation (docs/reference/resources.md, Organisations). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import {
  isAutoProvisioned,
  OrganisationAuthSettings,
  OrganisationAuthSettingsUpdate,
} from '../../model/workspaces/organisation.ts';
import type { StoredOrganisation } from '../../store/resources/organisations.ts';
import { requireGrantableRole } from '../access/grantable.ts';
import { type AdminDeps, everyMount } from '../request/deps.ts';
import type { BodyRequest } from '../request/frame-fields.ts';
import { withVersionTag } from '../request/version.ts';
import { changeOrganisation, findOrganisation } from './organisation-changes.ts';

const Response = z.object({ success: z.literal(true), data: OrganisationAuthSettings });

export function organisationAuthRoutes(deps: AdminDeps): Route<Principal>[] {
  const at = {
    mounts: { v1: everyMount.v1, admin: everyMount.admin },
    path: '/organisations/:tsgId/auth-settings',
    response: Response,
  } as const;
  return [
    route({
      ...at,
      method: 'GET',
      scope: 'organisation_settings.read',
      summary: 'Get the sign-in settings of the organisation of the caller',
      handle: async (request) => toReply(deps, await findOrganisation(deps, request)),
    }),
    route({
      ...at,
      method: 'PUT',
      scope: 'organisation_settings.update',
      versioned: true,
      summary: 'Set whether unknown accounts become users of the organisation when they sign in',
      body: OrganisationAuthSettingsUpdate,
      handle: (request) => update(deps, request),
    }),
  ];
}

/** @throws ApiError `forbidden` when the organisation is opened by somebody who may not add administrators */
async function update(deps: AdminDeps, request: BodyRequest<OrganisationAuthSettingsUpdate>) {
  const { body, caller } = request;
  const { disable_auto_provision_user: isDisabled } = body.auth_settings;
  // Claims may make a new user an administrator, so opening the organisation grants that role.
  const path = ['auth_settings', 'disable_auto_provision_user'];
  if (isDisabled !== true) requireGrantableRole(caller, 'organisation', 'admin', path);
  const provisions_users = isDisabled === null ? null : Number(!isDisabled);
  const row = await changeOrganisation(deps, request, () => ({ provisions_users }));
  return toReply(deps, row);
}

function toReply(deps: AdminDeps, row: StoredOrganisation) {
  return withVersionTag({ success: true as const, data: toAuthSettings(deps, row) }, row);
}

function toAuthSettings(
  { signIn }: AdminDeps,
  row: StoredOrganisation,
): z.infer<typeof OrganisationAuthSettings> {
  const none = { domains: [], scim_token: null };
  if (signIn === null) {
    const { provisions_users: chosen } = row;
    const auth_settings = chosen === null ? {} : { disable_auto_provision_user: chosen === 0 };
    return { auth_settings, ...none };
  }
  const { issuer, clientId, scopes, roles, groupsClaim, proof } = signIn.settings;
  const auth_settings = {
    issuer: issuer.href,
    client_id: clientId,
    scopes,
    role_claim: roles?.claim ?? null,
    groups_claim: groupsClaim,
    disable_auto_provision_user: !isAutoProvisioned(row, signIn.settings),
    token_endpoint_auth_method: proof.method,
    jwks: proof.method === 'private_key_jwt' ? { keys: [proof.publicKey] } : null,
  };
  return { auth_settings, ...none };
}
