/** Writes which users may use an MCP server. */
import { faultAt, prefixFaults } from '../../model/wire/fault.ts';
import { rejectFaults } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as serverUsers from '../../store/mcp/mcp-server-users.ts';
import type { StoredMcpServer } from '../../store/mcp/mcp-servers.ts';
import * as users from '../../store/people/users.ts';

interface Writing {
  readonly server: Pick<StoredMcpServer, 'id' | 'organisation_id'>;
  /** Whether the settings of users who are not listed are deleted. */
  readonly isWhole: boolean;
  readonly now: number;
}

/**
 * Returns whether anything changed. The row of the server must be locked.
 *
 * @throws ApiError `invalid` for a user who does not exist or is named twice
 */
export async function writeUserAccess(
  tx: Db,
  { server, isWhole, now }: Writing,
  sent: readonly serverUsers.UserAccess[],
): Promise<boolean> {
  const { organisation_id: organisationId, id } = server;
  const named = new Set(sent.map(({ userId }) => userId));
  const there = await users.listIdsForShare(tx, organisationId, [...named]);
  const faultOf = (userId: string, at: number): string | null => {
    if (!there.has(userId)) return 'is not a user of the organisation';
    return sent.findIndex((one) => one.userId === userId) < at ? 'is named twice' : null;
  };
  rejectFaults(
    sent.flatMap(({ userId }, at) =>
      prefixFaults(['user_access', at], faultAt('user_id', faultOf(userId, at))),
    ),
  );
  const stored = await serverUsers.listByServer(tx, organisationId, id);
  const storedBy = new Map(stored.map((row) => [row.user_id, row]));
  const changed = sent.filter(({ userId, enabled }) => {
    const row = storedBy.get(userId);
    return row === undefined || (row.enabled !== 0) !== enabled;
  });
  const removed = isWhole ? stored.filter((row) => !named.has(row.user_id)) : [];
  await serverUsers.upsertMany(tx, organisationId, id, changed, now);
  const removedIds = removed.map((row) => row.user_id);
  await serverUsers.deleteMany(tx, organisationId, id, removedIds);
  return changed.length + removedIds.length > 0;
}
