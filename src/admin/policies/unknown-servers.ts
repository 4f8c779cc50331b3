/** Warns in responses that a condition of a policy names an MCP server which its workspace does not have. */
import type { Reply } from '../../http/routes/route.ts';
import { serversNamedIn, unknownServerText } from '../../model/limits/named-servers.ts';
import type { Db } from '../../store/connection/db.ts';
import { listServerNames } from '../../store/mcp/mcp-servers.ts';
import { withWarnings } from '../request/warnings.ts';

interface WrittenPolicy {
  readonly organisation_id: string;
  readonly workspace_id: string | null;
}

/** The policy applies as soon as a server has the slug. */
export async function withServerWarnings<Receipt>(
  db: Db,
  { organisation_id: organisationId, workspace_id: workspaceId }: WrittenPolicy,
  conditions: unknown,
  receipt: Receipt,
): Promise<Receipt | Reply<Receipt>> {
  const named = serversNamedIn(conditions);
  if (named.length === 0 || workspaceId === null) return receipt;
  const servers = await listServerNames(db, organisationId, workspaceId);
  const known = new Set(servers.flatMap(({ id, slug }) => [id, slug]));
  const slugs = servers.map(({ slug }) => slug);
  const warnings = named
    .filter(({ server }) => !known.has(server))
    .map((one) => unknownServerText(one, 'the workspace', slugs))
    // A quote would end the text in the header.
    .map((text) => ({ path: ['conditions'], message: text.replaceAll(/["\\]/g, "'") }));
  return withWarnings(receipt, warnings);
}
