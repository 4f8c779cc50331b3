/** Acquires leases, so that a test can write on behalf of an owner. */
import { randomUUID } from 'node:crypto';
import type { TestServer } from '../server/server.ts';
import type { Send } from '../server/tenant.ts';

/** Headers for a write of this owner; acquires the owner's lease with a new run. */
export async function leaseHeaders(
  send: Send,
  owner: string,
  more: Record<string, unknown> = {},
): Promise<Record<string, string>> {
  const body = { run_id: randomUUID(), holder: 'a test', ttl_seconds: 300, ...more };
  const taken = await send('PUT', `/admin/v2/gatewright/leases/${owner}`, { body });
  if (taken.status !== 200) throw new Error(`no lease: ${JSON.stringify(taken.body)}`);
  return { 'gatewright-owner': owner, 'gatewright-fence': String(taken.body.fence) };
}

/** Leases by caller and owner, each acquired once. */
export function createLeases(): (send: Send, owner: string) => Promise<Record<string, string>> {
  const taken = new Map<Send, Map<string, Promise<Record<string, string>>>>();
  return async (send, owner) => {
    const own = taken.get(send) ?? new Map<string, Promise<Record<string, string>>>();
    taken.set(send, own);
    if (!own.has(owner)) own.set(owner, leaseHeaders(send, owner));
    return await own.get(owner)!;
  };
}

/** Expires all leases: the next run can acquire them, and a dead run has lost them. */
export async function endLeases(server: TestServer): Promise<void> {
  await server.database.db.updateTable('sync_leases').set({ expires_at: 0 }).execute();
}
