/** Knows how requests find MCP integrations and servers, and which scope an integration asks for. */

import { authorise } from '../../auth/authenticate.ts';
import type { Principal } from '../../auth/principal.ts';
import type { Db } from '../../store/connection/db.ts';
import type * as mcpIntegrations from '../../store/tables/mcp-integrations.ts';
import type * as mcpServers from '../../store/tables/mcp-servers.ts';
import type { AdminRequest } from '../request/deps.ts';
import { findOr404 } from '../request/scoping.ts';

type Named = Pick<AdminRequest, 'caller' | 'params'>;

/** Which of the two counts depends on the integration; {@link requireScope} then asks for the one. */
export function eitherScope(action: string): readonly string[] {
  return [`organisation_mcp_integrations.${action}`, `workspace_mcp_integrations.${action}`];
}

/** @throws ApiError `forbidden` unless the caller holds the scope for where the integration is. */
export function requireScope(
  caller: Principal,
  at: { readonly workspace_id: string | null },
  action: string,
): void {
  const [organisation, workspace] = eitherScope(action);
  authorise(caller, at.workspace_id === null ? organisation! : workspace!);
}

/** The integration the path names. */
export async function findIntegration(
  db: Db,
  { caller, params }: Named,
  find: typeof mcpIntegrations.findByIdOrSlug,
): Promise<mcpIntegrations.StoredMcpIntegration> {
  const found = await find(db, caller.organisationId, params.mcpIntegrationId!);
  return findOr404(caller, found);
}

/** The server the path names. */
export async function findServer(
  db: Db,
  { caller, params }: Named,
  find: typeof mcpServers.findByIdOrSlug,
): Promise<mcpServers.StoredMcpServer> {
  return findOr404(caller, await find(db, caller.organisationId, params.mcpServerId!));
}
