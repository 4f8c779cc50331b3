/** HTTP routes for the leases of owners: take, renew and release; one writer for each owner. */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { ManagedName } from '../../model/manifests/managed-by.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as serviceAccounts from '../../store/people/service-accounts.ts';
import * as syncLeases from '../../store/sync/sync-leases.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import { claimScope, heldBy } from '../request/fencing.ts';
import { requireWholeOrganisation } from '../request/scoping.ts';
import { auditOwner } from './owner-audit.ts';

const ttlSecondsMax = 300;

const LeaseBody = z.object({
  /** Id of the run that writes; repeating it renews the lease. */
  run_id: z.uuid(),
  /** Description of the run for those who wait for it. */
  holder: z.string().regex(/^[\x20-\x7e]{1,200}$/, 'must be 1 to 200 printable ASCII characters'),
  ttl_seconds: z.int().min(1).max(ttlSecondsMax),
  /** Lets a run with changes to write take the lease at once, as this run has none. */
  yields: z.boolean().optional(),
  /** Binds the owner to this caller even if it is bound to another. */
  take_over: z.boolean().optional(),
});

const Lease = z.object({
  object: z.literal('lease'),
  owner: z.string(),
  holder: z.string(),
  held_since: ResponseTimestamp,
  /** Sent with every write as `gatewright-fence`. */
  fence: z.int().min(0),
  /** By the clock of the database. */
  expires_at: ResponseTimestamp,
});

const OwnerParams = z.object({ owner: ManagedName });

type LeaseParams = z.infer<typeof OwnerParams>;
type LeaseRequest = AdminRequest<LeaseParams, undefined, z.infer<typeof LeaseBody>>;

export function leaseRoutes(deps: AdminDeps): Route<Principal>[] {
  const common = {
    path: '/gatewright/leases/:owner',
    mounts: { admin: ['access-token'] },
    scope: claimScope,
    params: OwnerParams,
  } as const;
  return [
    route({
      ...common,
      method: 'PUT',
      summary: 'Take or renew the lease of an owner; writes on its behalf require it',
      body: LeaseBody,
      refusals: ['conflict'],
      response: Lease,
      handle: (request) => take(deps, request),
    }),
    route({
      ...common,
      method: 'DELETE',
      leaseHeaders: ['gatewright-fence'],
      summary: 'Release the lease with the fence gatewright-fence; no effect when it is gone',
      response: z.object({}),
      handle: (request) => release(deps, request),
    }),
  ];
}

async function take(deps: AdminDeps, request: LeaseRequest): Promise<z.infer<typeof Lease>> {
  const { caller, params, body } = request;
  const { owner } = params;
  requireWholeOrganisation(caller);
  const claimant: syncLeases.LeaseClaim = {
    organisationId: caller.organisationId,
    owner,
    principalId: caller.id,
    runId: body.run_id.toLowerCase(),
    holder: body.holder,
    ttlMs: body.ttl_seconds * 1000,
    yields: body.yields === true,
    takesOver: body.take_over === true,
  };
  await ensureRow(deps, caller.organisationId, owner);
  return deps.database.transaction(async (tx) => {
    const before = await syncLeases.findForUpdate(tx, caller.organisationId, owner);
    if (!(await syncLeases.update(tx, claimant))) throw await refusal(tx, claimant, before!);
    if (before!.principal_id !== caller.id) await auditBinding(tx, deps, request, before!);
    const held = (await syncLeases.find(tx, caller.organisationId, owner))!;
    return {
      object: 'lease',
      owner,
      holder: held.holder,
      held_since: formatTimestamp(held.held_since),
      fence: held.fence,
      expires_at: formatTimestamp(held.expires_at),
    };
  });
}

/**
 * Runs in a transaction of its own, because an insert that finds an existing row holds a shared lock that
 * two transactions cannot both upgrade. When another owner takes the next number first, this tries again.
 */
async function ensureRow(
  { database }: AdminDeps,
  organisationId: string,
  owner: string,
): Promise<void> {
  const isKnown = async (db: Db) =>
    (await syncLeases.find(db, organisationId, owner)) !== undefined;
  while (!(await isKnown(database.readable))) {
    await database.transaction(async (tx) => {
      await syncLeases.insertNext(tx, organisationId, owner);
      const isFull = await syncLeases.hasMaximumOwners(tx, organisationId);
      // Checked last: once all owners exist, no further row is created.
      if (isFull && !(await isKnown(tx))) throw tooManyOwners();
    });
  }
}

/** Owners are never deleted, so the caller must use an existing one. */
function tooManyOwners(): ApiError {
  const message = `The organisation has ${syncLeases.ownersMax} owners, which is the maximum: \
use one of them`;
  return new ApiError('conflict', message, 'owner');
}

/** `param` distinguishes a lease that will become free from an owner that belongs to another credential. */
async function refusal(
  tx: Db,
  claimant: syncLeases.LeaseClaim,
  row: syncLeases.SyncLeaseRow,
): Promise<ApiError> {
  const { owner, principalId } = claimant;
  if (row.principal_id !== principalId && !claimant.takesOver) {
    const bound = await serviceAccounts.findById(tx, row.principal_id);
    const name = bound === undefined ? 'a deleted service account' : bound.name;
    const message = `Owner "${owner}" belongs to another credential (${name}); use that one, \
another owner, or take it over (--take-ownership)`;
    return new ApiError('conflict', message, 'owner');
  }
  return new ApiError('conflict', `The lease of owner "${owner}": ${heldBy(row)}`, 'run_id');
}

/** Binding an owner to a credential is audited, because it decides who may write. */
async function auditBinding(
  tx: Db,
  deps: AdminDeps,
  request: LeaseRequest,
  before: syncLeases.SyncLeaseRow,
): Promise<void> {
  const changes = before.principal_id === '' ? {} : { taken_from: before.principal_id };
  await auditOwner(tx, deps, request, { owner: request.params.owner, action: 'bind', changes });
}

async function release(
  deps: AdminDeps,
  { caller, params, fence }: AdminRequest<LeaseParams>,
): Promise<Record<string, never>> {
  requireWholeOrganisation(caller);
  if (fence === null) {
    const message = 'is required to release this lease and no later one';
    throw validationError({ path: ['gatewright-fence'], message });
  }
  const { organisationId, id: principalId } = caller;
  await deps.database.transaction((tx) =>
    syncLeases.updateReleased(tx, { organisationId, owner: params.owner, principalId, fence }),
  );
  return {};
}
