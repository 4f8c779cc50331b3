/** HTTP route that releases resources from their owner; they stay and become unmanaged. */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { kindNames } from '../../model/kinds/kinds.ts';
import { ApiError } from '../../model/wire/errors.ts';
import type { Db } from '../../store/connection/db.ts';
import * as managedResources from '../../store/sync/managed-resources.ts';
import { auditChange } from '../request/change.ts';
import { type AdminDeps, type AdminRequest, forOwners } from '../request/deps.ts';
import { claimScope, ownerOfLease, requireLease } from '../request/fencing.ts';
import { requireWholeOrganisation } from '../request/scoping.ts';

const resourcesMax = 200;

const ManagedResource = z.object({ kind: z.enum(kindNames), id: z.uuid() });
type ManagedResource = z.infer<typeof ManagedResource>;

const ReleaseBody = z.object({ resources: z.array(ManagedResource).min(1).max(resourcesMax) });

const ReleaseResult = z.object({
  object: z.literal('list'),
  /** In the order of the request. */
  data: z.array(
    z.object({
      ...ManagedResource.shape,
      /** False when the resource had no owner. */
      released: z.boolean(),
    }),
  ),
});
type ReleaseResult = z.infer<typeof ReleaseResult>;

type ReleaseRequest = AdminRequest<Record<string, string>, undefined, z.infer<typeof ReleaseBody>>;

export function syncReleaseRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      path: '/gatewright/sync/releases',
      mounts: { admin: ['access-token'] },
      scope: claimScope,
      ...forOwners,
      method: 'POST',
      summary: 'Release resources from their owner, all or none; they stay, unmanaged',
      body: ReleaseBody,
      response: ReleaseResult,
      handle: (request) => release(deps, request),
    }),
  ];
}

async function release(deps: AdminDeps, request: ReleaseRequest): Promise<ReleaseResult> {
  const { caller, body } = request;
  requireWholeOrganisation(caller);
  const owner = ownerOfLease(request);
  // In a fixed order, so that concurrent releases cannot deadlock.
  const inOrder = body.resources.toSorted((one, two) => (keyOf(one) < keyOf(two) ? -1 : 1));
  return deps.database.transaction(async (tx) => {
    const released = new Set<string>();
    for (const resource of inOrder) {
      if (await releaseOne(tx, deps, request, owner, resource)) released.add(keyOf(resource));
    }
    await requireLease(tx, request, owner);
    const data = body.resources.map((one) => ({ ...one, released: released.has(keyOf(one)) }));
    return { object: 'list', data };
  });
}

async function releaseOne(
  tx: Db,
  deps: AdminDeps,
  request: ReleaseRequest,
  owner: string,
  { kind, id }: ManagedResource,
): Promise<boolean> {
  const { organisationId } = request.caller;
  const held = await managedResources.findForUpdate(tx, organisationId, kind, id);
  if (held === undefined) return false;
  if (held.owner !== owner) {
    const message = `${kind} ${id} is managed by ${held.owner}`;
    throw new ApiError('conflict', message, 'gatewright-owner');
  }
  await managedResources.deleteByResource(tx, organisationId, kind, id);
  const { workspace, name } = held;
  await auditChange(tx, deps, request, {
    action: 'release',
    kind,
    resourceId: id,
    workspaceId: null,
    changes: { owner, workspace: workspace === '' ? null : workspace, name },
  });
  return true;
}

function keyOf({ kind, id }: ManagedResource): string {
  return `${kind} ${id}`;
}
