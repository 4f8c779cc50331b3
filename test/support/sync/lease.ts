/** Knows how a test writes in the name of an owner: with the lease that the server asks for. */
import { randomUUID } from 'node:crypto';
import type { TestServer } from '../server/server.ts';
import type { Send } from '../server/tenant.ts';

/** Headers that a write for this owner carries; takes the owner's lease with a run of its own. */
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

/** Leases by sender and owner, each taken once. */
export function createLeases(): (send: Send, owner: string) => Promise<Record<string, string>> {
  const taken = new Map<Send, Map<string, Promise<Record<string, string>>>>();
  return async (send, owner) => {
    const own = taken.get(send) ?? new Map<string, Promise<Record<string, string>>>();
    taken.set(send, own);
    if (!own.has(owner)) own.set(owner, leaseHeaders(send, owner));
    return await own.get(owner)!;
  };
}

/** What the time of a lease would bring about: whoever comes next has it, and a dead run has it not. */
export async function endLeases(server: TestServer): Promise<void> {
  await server.database.db.updateTable('sync_leases').set({ expires_at: 0 }).execute();
}
