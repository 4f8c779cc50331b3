/**
 * HTTP route of the token service: issues a 15-minute access token for one tenant to a client with its
 * secret (RFC 6749).
 */
import { z } from 'zod';
import {
  type AccessTokens,
  type TokenGrant,
  tokenLifetimeSeconds,
} from '../../auth/access-token.ts';
import { findRoleGrants, rolesByWorkspace } from '../../auth/grants.ts';
import type { Principal } from '../../auth/principal.ts';
import { RawReply, Reply, type Route, route } from '../../http/routes/route.ts';
import type { Db } from '../../store/connection/db.ts';
import * as organisations from '../../store/resources/organisations.ts';
import type { AdminDeps } from '../request/deps.ts';

const scopePattern = /^tsg_id:(\d{10})$/;

/**
 * Further fields are ignored, as RFC 6749 3.2 requires; a repeated field is parsed as a list and refused.
 */
const TokenRequest = z.object({
  grant_type: z.string(),
  scope: z.string(),
});

const TokenResponse = z.object({
  access_token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.int().min(0),
});

/** Errors have the format of RFC 6749 5.2 (`error`, `error_description`), as OAuth clients expect. */
export function tokenRoutes(
  deps: Pick<AdminDeps, 'database'>,
  tokens: AccessTokens,
): Route<Principal>[] {
  return [
    route({
      method: 'POST',
      path: '/oauth2/access_token',
      mounts: { root: ['client'] },
      summary: 'Issue an access token for one tenant',
      errors: 'oauth',
      bodyType: 'form',
      body: TokenRequest,
      response: TokenResponse,
      handle: async ({ body, caller, now }) => {
        if (body.grant_type !== 'client_credentials') {
          return oauthError('unsupported_grant_type', 'grant_type must be client_credentials');
        }
        const tsgId = scopePattern.exec(body.scope)?.[1];
        if (tsgId === undefined) {
          return oauthError('invalid_scope', 'scope must be tsg_id:<10 digits>');
        }
        const access = await findAccess(deps.database.readable, caller, tsgId);
        if (access instanceof RawReply) return access;
        const grant = { serviceAccountId: caller.id, tsgId, ...access };
        const response: z.infer<typeof TokenResponse> = {
          access_token: await tokens.issue(grant, now),
          token_type: 'Bearer',
          expires_in: tokenLifetimeSeconds,
        };
        return new Reply(200, response, { pragma: 'no-cache' });
      },
    }),
  ];
}

/** Roles on the tenant take precedence over roles on one workspace; the latter bind the token to it. */
async function findAccess(
  db: Db,
  caller: Principal,
  tsgId: string,
): Promise<Pick<TokenGrant, 'roles' | 'workspaceId'> | RawReply> {
  const [grants, organisation] = await Promise.all([
    findRoleGrants(db, caller, tsgId),
    organisations.findByTsgId(db, tsgId),
  ]);
  if (organisation !== undefined && grants.roles.length > 0) {
    return { roles: grants.roles, workspaceId: null };
  }
  const byWorkspace =
    organisation === undefined ? [] : await rolesByWorkspace(db, organisation.id, grants);
  const [only, ...others] = byWorkspace;
  if (others.length > 0) {
    return oauthError(
      'invalid_scope',
      'the service account holds roles on several workspaces of this TSG, but a token is for the TSG ' +
        'or for one workspace: use one service account per workspace',
    );
  }
  if (only !== undefined) return { workspaceId: only[0], roles: only[1] };
  return grants.isWithinReach && organisation !== undefined
    ? oauthError('unauthorized_client', 'the service account holds no role on this TSG')
    : oauthError('invalid_scope', 'the service account is not in this TSG or an ancestor of it');
}

function oauthError(error: string, description: string): RawReply {
  return new RawReply(400, JSON.stringify({ error, error_description: description }));
}
