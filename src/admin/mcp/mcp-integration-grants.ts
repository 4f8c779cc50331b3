/** Writes which workspaces may use an MCP integration of the organisation. */
import { newId } from '../../model/wire/ids.ts';
import type { Db } from '../../store/connection/db.ts';
import * as grants from '../../store/mcp/mcp-integration-workspaces.ts';
import type { StoredMcpIntegration } from '../../store/mcp/mcp-integrations.ts';

/** Grant of one workspace. */
export interface ResolvedMcpGrant {
  readonly workspaceId: string;
  readonly enabled: boolean;
}

interface Writing {
  readonly integration: Pick<StoredMcpIntegration, 'id' | 'organisation_id'>;
  /** Whether the grants of workspaces that are not listed are deleted. */
  readonly isWhole: boolean;
  readonly now: number;
}

/** Returns whether anything changed. The row of the integration must be locked. */
export async function writeMcpGrants(
  tx: Db,
  { integration, isWhole, now }: Writing,
  sent: readonly ResolvedMcpGrant[],
): Promise<boolean> {
  const { organisation_id: organisationId, id } = integration;
  const stored = await grants.listByIntegration(tx, organisationId, id);
  const storedBy = new Map(stored.map((row) => [row.workspace_id, row]));
  const added = sent.filter(({ workspaceId }) => !storedBy.has(workspaceId));
  const idsThatBecome = (enabled: boolean): string[] =>
    sent.flatMap((grant) => {
      const row = storedBy.get(grant.workspaceId);
      const isOther = grant.enabled === enabled && row?.enabled === (enabled ? 0 : 1);
      return isOther ? [row.id] : [];
    });
  const [opened, closed] = [idsThatBecome(true), idsThatBecome(false)];
  const named = new Set(sent.map(({ workspaceId }) => workspaceId));
  const removed = isWhole ? stored.filter((row) => !named.has(row.workspace_id)) : [];
  await grants.insertMany(
    tx,
    added.map(({ workspaceId, enabled }) => ({
      id: newId(),
      organisation_id: organisationId,
      mcp_integration_id: id,
      workspace_id: workspaceId,
      enabled: Number(enabled),
      created_at: now,
      last_updated_at: now,
    })),
  );
  await grants.updateEnabled(tx, organisationId, opened, { enabled: 1, last_updated_at: now });
  await grants.updateEnabled(tx, organisationId, closed, { enabled: 0, last_updated_at: now });
  const removedIds = removed.map((row) => row.id);
  await grants.deleteByIds(tx, organisationId, removedIds);
  return added.length + opened.length + closed.length + removedIds.length > 0;
}
