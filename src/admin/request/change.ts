/** Knows what every change of a resource carries with it: its audit row and the mark of its owner. */
import { isDeepStrictEqual } from 'node:util';
import { ApiError } from '../../model/errors.ts';
import type { KindName } from '../../model/kinds.ts';
import type { ManagedBy } from '../../model/managed-by.ts';
import type { Db } from '../../store/connection/db.ts';
import type { ManagedResourceRow } from '../../store/tables/managed-resources.ts';
import * as managedResources from '../../store/tables/managed-resources.ts';
import type { AdminDeps, AdminRequest } from './deps.ts';
import { requireLease } from './fencing.ts';

/** The parts of a request that say who changes something, when, and on whose behalf. */
export type Author = Pick<AdminRequest, 'caller' | 'requestId' | 'owner' | 'fence' | 'now'>;

export interface Change {
  /** `reset` touches counters only, so ownership has no say in it. */
  readonly action: 'create' | 'update' | 'delete' | 'reset' | 'rotate';
  readonly kind: KindName;
  readonly resourceId: string;
  readonly workspaceId: string | null;
  /** Names of changed fields and other facts; never values of secret type. */
  readonly changes: Record<string, unknown>;
  /** Whether an update found everything as it is to be: without news of its owner it is no change. */
  readonly unchanged?: boolean;
  /** The body's `managed_by`; ignored for a delete. */
  readonly managedBy?: ManagedBy | undefined;
}

/**
 * Records one change in its own transaction: keeps the ownership row in step and writes the audit
 * row. Call it after the resource's own write.
 *
 * @throws ApiError `conflict` when the declared identity belongs to another resource, when another
 *   owner holds the resource, or when a delete names an owner who is not the resource's; what
 *   `requireLease` throws for a write in the name of an owner.
 */
export async function recordChange(
  tx: Db,
  deps: Pick<AdminDeps, 'audit'>,
  author: Author,
  change: Change,
): Promise<void> {
  if (change.unchanged === true && change.managedBy === undefined) return;
  const ownership = await keepOwnership(tx, author, change);
  const owner = change.managedBy?.owner ?? author.owner;
  if (owner !== null) await requireLease(tx, author, owner);
  if (change.unchanged === true && ownership === null) return;
  await auditChange(tx, deps, author, { ...change, changes: { ...change.changes, ...ownership } });
}

/** What has no manifest, because people are no configuration. */
type PeopleKind = 'User' | 'UserSession' | 'UserInvite' | 'WorkspaceMember' | 'ScimGroup';

/** What has no manifest, because its credential is told once, to whoever asked, or is one of a person's own. */
type CredentialKind = 'McpConnection';

/** What has no manifest, because it is work that is done once. */
type WorkKind = 'LogExport';

/** What an audit row tells. */
interface Told extends Pick<Change, 'resourceId' | 'workspaceId' | 'changes'> {
  readonly action: Change['action'] | 'read' | 'release' | 'bind' | 'suspend' | 'resume';
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

/** The audit row alone, for what a change brings with it beside itself and for what no owner declares. */
export async function auditChange(
  tx: Db,
  deps: Pick<AdminDeps, 'audit'>,
  { caller, now, requestId }: Pick<Author, 'caller' | 'now' | 'requestId'>,
  change: Told,
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

/** Yields the facts about ownership that the audit row tells, or null for none. */
async function keepOwnership(
  tx: Db,
  author: Author,
  change: Change,
): Promise<Record<string, unknown> | null> {
  const { managedBy } = change;
  if (change.action === 'reset') return null;
  if (change.action === 'create') {
    return managedBy === undefined ? null : claim(tx, author, change, managedBy);
  }
  const { organisationId } = author.caller;
  const held = await managedResources.findForUpdate(
    tx,
    organisationId,
    change.kind,
    change.resourceId,
  );
  if (change.action === 'delete') return release(tx, author, change, held);
  if (managedBy === undefined) return held === undefined ? null : { unmanaged_edit: true };
  if (held === undefined) return claim(tx, author, change, managedBy);
  return renew(tx, author, change, managedBy, held);
}

async function claim(
  tx: Db,
  author: Author,
  change: Change,
  managedBy: ManagedBy,
): Promise<Record<string, unknown>> {
  const row = ownershipRow(author, change, managedBy);
  if (!(await managedResources.insertUnlessClaimed(tx, row))) await refuseIdentity(tx, row);
  return { managed_by: identityFacts(managedBy) };
}

async function renew(
  tx: Db,
  author: Author,
  change: Change,
  managedBy: ManagedBy,
  held: ManagedResourceRow,
): Promise<Record<string, unknown> | null> {
  const takesOver = held.owner !== managedBy.owner;
  if (takesOver && managedBy.take_ownership !== true) {
    throw new ApiError('conflict', `This resource is managed by ${holder(held)}`, 'managed_by');
  }
  const row = ownershipRow(author, change, managedBy);
  if (change.unchanged === true && saysTheSame(held, row)) return null;
  if (!(await managedResources.updateUnlessClaimed(tx, row))) await refuseIdentity(tx, row);
  return {
    managed_by: identityFacts(managedBy),
    ...(takesOver ? { ownership_taken_from: held.owner } : {}),
  };
}

/** Their documents are JSON texts, in which the order of keys means nothing. */
function saysTheSame(held: ManagedResourceRow, row: ManagedResourceRow): boolean {
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
  change: Change,
  held: ManagedResourceRow | undefined,
): Promise<Record<string, unknown> | null> {
  if (author.owner !== null && held?.owner !== author.owner) {
    const truth = held === undefined ? 'is not managed by anyone' : `is managed by ${holder(held)}`;
    throw new ApiError('conflict', `This resource ${truth}`, 'gatewright-owner');
  }
  if (held === undefined) return null;
  const { organisationId } = author.caller;
  await managedResources.deleteByResource(tx, organisationId, change.kind, change.resourceId);
  return author.owner === null ? { unmanaged_edit: true } : { owner: held.owner };
}

async function refuseIdentity(tx: Db, row: ManagedResourceRow): Promise<never> {
  const holding = await managedResources.findByIdentity(tx, row.organisation_id, row);
  const identity = [row.kind, row.workspace, row.name].filter((part) => part !== '').join('/');
  const truth = holding === undefined ? 'is already managed' : `is managed by ${holder(holding)}`;
  throw new ApiError('conflict', `${identity} ${truth}`, 'managed_by');
}

/** `platform (https://git.example.com/gateway, keys/bot.yaml, at 1f3c…)`. */
function holder(row: ManagedResourceRow): string {
  const source = JSON.parse(row.source) as ManagedBy['source'];
  const at = source.revision === null ? undefined : `at ${source.revision}`;
  const origin = [source.repo, source.file, at].filter((part) => part !== undefined);
  return `${row.owner} (${origin.join(', ')})`;
}

function ownershipRow(author: Author, change: Change, managedBy: ManagedBy): ManagedResourceRow {
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
