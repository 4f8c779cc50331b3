/** Records each change of a resource: its ownership row and its audit row. */
import { isDeepStrictEqual } from 'node:util';
import type { KindName } from '../../model/kinds/kinds.ts';
import type { ManagedBy } from '../../model/manifests/managed-by.ts';
import { ApiError } from '../../model/wire/errors.ts';
import type { Db } from '../../store/connection/db.ts';
import type { ManagedResourceRow } from '../../store/sync/managed-resources.ts';
import * as managedResources from '../../store/sync/managed-resources.ts';
import type { AdminDeps, AdminRequest } from './deps.ts';
import { requireLease } from './fencing.ts';

/** The parts of a request that identify who makes a change, when, and on whose behalf. */
export type Author = Pick<AdminRequest, 'caller' | 'requestId' | 'owner' | 'fence' | 'now'>;

export interface ResourceChange {
  /** `reset` changes counters only, so ownership does not apply. */
  readonly action: 'create' | 'update' | 'delete' | 'reset' | 'rotate';
  readonly kind: KindName;
  readonly resourceId: string;
  readonly workspaceId: string | null;
  /** Names of changed fields and other facts; never values of secret type. */
  readonly changes: Record<string, unknown>;
  /** Whether an update found nothing to change; it is then recorded only if the ownership changes. */
  readonly unchanged?: boolean;
  /** The body's `managed_by`; ignored for a delete. */
  readonly managedBy?: ManagedBy | undefined;
}

/**
 * Records one change in the caller's transaction: updates the ownership row and writes the audit row.
 * Call it after the resource's own write.
 *
 * @throws ApiError `conflict` when the declared identity belongs to another resource, when another
 *   owner manages the resource, or when a delete names an owner other than the resource's; the errors
 *   of `requireLease` for a change on behalf of an owner
 */
export async function recordChange(
  tx: Db,
  deps: Pick<AdminDeps, 'audit'>,
  author: Author,
  change: ResourceChange,
): Promise<void> {
  if (change.unchanged === true && change.managedBy === undefined) return;
  const ownership = await updateOwnership(tx, author, change);
  const owner = change.managedBy?.owner ?? author.owner;
  if (owner !== null) await requireLease(tx, author, owner);
  if (change.unchanged === true && ownership === null) return;
  await auditChange(tx, deps, author, { ...change, changes: { ...change.changes, ...ownership } });
}

/** Kinds without a manifest, because users and their sessions are not configuration. */
type PeopleKind =
  | 'User'
  | 'UserSession'
  | 'SignInLink'
  | 'UserInvite'
  | 'WorkspaceMember'
  | 'ScimGroup';

/** Kinds without a manifest, because the credential is returned once or belongs to a user. */
type CredentialKind = 'McpConnection';

/** Kinds without a manifest, because they are one-off tasks. */
type WorkKind = 'LogExport' | 'PullRequest';

/** Audit field that names the secret an operation returned; part of the audit log's format. */
export const returnedSecretField = 'told';

/** Content of an audit row. */
interface AuditedChange extends Pick<ResourceChange, 'resourceId' | 'workspaceId' | 'changes'> {
  readonly action: ResourceChange['action'] | 'read' | 'release' | 'bind' | 'suspend' | 'resume';
  readonly kind:
    | KindName
    | 'AccessPolicy'
    | 'Organisation'
    | 'IamScope'
    | 'SyncOwner'
    | PeopleKind
    | CredentialKind
    | WorkKind;
}

/** Writes the audit row alone, for side effects of a change and for kinds that no owner declares. */
export async function auditChange(
  tx: Db,
  deps: Pick<AdminDeps, 'audit'>,
  { caller, now, requestId }: Pick<Author, 'caller' | 'now' | 'requestId'>,
  change: AuditedChange,
): Promise<void> {
  const entry = {
    organisationId: caller.organisationId,
    workspaceId: change.workspaceId,
    at: now,
    actorKind: caller.kind,
    actorId: caller.id,
    action: change.action,
    resourceKind: change.kind,
    resourceId: change.resourceId,
    requestId,
    changes: change.changes,
  };
  await deps.audit(tx, [entry]);
}

/** Returns the ownership facts for the audit row, or null for none. */
async function updateOwnership(
  tx: Db,
  author: Author,
  change: ResourceChange,
): Promise<Record<string, unknown> | null> {
  const { managedBy } = change;
  if (change.action === 'reset') return null;
  if (change.action === 'create') {
    return managedBy === undefined ? null : claim(tx, author, change, managedBy);
  }
  const { organisationId } = author.caller;
  const current = await managedResources.findForUpdate(
    tx,
    organisationId,
    change.kind,
    change.resourceId,
  );
  if (change.action === 'delete') return release(tx, author, change, current);
  if (managedBy === undefined) return current === undefined ? null : { unmanaged_edit: true };
  if (current === undefined) return claim(tx, author, change, managedBy);
  return renew(tx, author, change, managedBy, current);
}

async function claim(
  tx: Db,
  author: Author,
  change: ResourceChange,
  managedBy: ManagedBy,
): Promise<Record<string, unknown>> {
  const row = ownershipRow(author, change, managedBy);
  if (!(await managedResources.insertUnlessClaimed(tx, row))) await refuseIdentity(tx, row);
  return { managed_by: identityFacts(managedBy) };
}

async function renew(
  tx: Db,
  author: Author,
  change: ResourceChange,
  managedBy: ManagedBy,
  held: ManagedResourceRow,
): Promise<Record<string, unknown> | null> {
  const takesOver = held.owner !== managedBy.owner;
  if (takesOver && managedBy.take_ownership !== true) {
    throw new ApiError(
      'conflict',
      `This resource is managed by ${describeOwner(held)}`,
      'managed_by',
    );
  }
  const row = ownershipRow(author, change, managedBy);
  if (change.unchanged === true && isSameOwnership(held, row)) return null;
  if (!(await managedResources.updateUnlessClaimed(tx, row))) await refuseIdentity(tx, row);
  return {
    managed_by: identityFacts(managedBy),
    ...(takesOver ? { ownership_taken_from: held.owner } : {}),
  };
}

/** Compares parsed JSON, because the order of keys is irrelevant. */
function isSameOwnership(held: ManagedResourceRow, row: ManagedResourceRow): boolean {
  const read = ({ source, last_applied, updated_at: _, ...rest }: ManagedResourceRow) => ({
    ...rest,
    source: JSON.parse(source) as unknown,
    base: JSON.parse(last_applied) as unknown,
  });
  return isDeepStrictEqual(read(held), read(row));
}

async function release(
  tx: Db,
  author: Author,
  change: ResourceChange,
  held: ManagedResourceRow | undefined,
): Promise<Record<string, unknown> | null> {
  if (author.owner !== null && held?.owner !== author.owner) {
    const state =
      held === undefined ? 'is not managed by anyone' : `is managed by ${describeOwner(held)}`;
    throw new ApiError('conflict', `This resource ${state}`, 'gatewright-owner');
  }
  if (held === undefined) return null;
  const { organisationId } = author.caller;
  await managedResources.deleteByResource(tx, organisationId, change.kind, change.resourceId);
  return author.owner === null ? { unmanaged_edit: true } : { owner: held.owner };
}

async function refuseIdentity(tx: Db, row: ManagedResourceRow): Promise<never> {
  const holding = await managedResources.findByIdentity(tx, row.organisation_id, row);
  const identity = [row.kind, row.workspace, row.name].filter((part) => part !== '').join('/');
  const truth =
    holding === undefined ? 'is already managed' : `is managed by ${describeOwner(holding)}`;
  throw new ApiError('conflict', `${identity} ${truth}`, 'managed_by');
}

/** `platform (https://git.example.com/gateway, keys/bot.yaml, at 1f3c…)`. */
function describeOwner(row: ManagedResourceRow): string {
  const source = JSON.parse(row.source) as ManagedBy['source'];
  const at = source.revision === null ? undefined : `at ${source.revision}`;
  const origin = [source.repo, source.file, at].filter((part) => part !== undefined);
  return `${row.owner} (${origin.join(', ')})`;
}

function ownershipRow(
  author: Author,
  change: ResourceChange,
  managedBy: ManagedBy,
): ManagedResourceRow {
  return {
    kind: change.kind,
    resource_id: change.resourceId,
    organisation_id: author.caller.organisationId,
    workspace: managedBy.workspace ?? '',
    name: managedBy.name,
    owner: managedBy.owner,
    recorded_by: author.caller.id,
    source: JSON.stringify(managedBy.source),
    last_applied: JSON.stringify(managedBy.last_applied),
    updated_at: author.now,
  };
}

function identityFacts(managedBy: ManagedBy): Record<string, unknown> {
  return {
    owner: managedBy.owner,
    workspace: managedBy.workspace,
    name: managedBy.name,
    source: managedBy.source,
  };
}
