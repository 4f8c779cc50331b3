/** Finds the manifest of a managed resource in the copy of its source that sync has left. */
import type { AdminRequest } from '../admin/request/deps.ts';
import { requireWholeOrganisation } from '../admin/request/scoping.ts';
import type { KindName } from '../model/kinds/kinds.ts';
import { placeOfSource } from '../model/kinds/sync-source.ts';
import type { ManagedBy } from '../model/manifests/managed-by.ts';
import { ApiError } from '../model/wire/errors.ts';
import * as managedResources from '../store/sync/managed-resources.ts';
import * as syncSources from '../store/sync/sync-sources.ts';
import { isGitLocation, parseGitLocation } from '../sync/source/git-location.ts';
import type { RepositoryPlace } from './forges/create-forge.ts';
import type {
  ChangedManifest,
  PlanningResult,
  PlanningTask,
  ReadManifest,
} from './planning/planning-task.ts';
import type { ProposalDeps } from './proposal-deps.ts';

/** A resource that sync manages, with the stored copy of its source. */
export interface ManagedManifest {
  readonly kind: KindName;
  readonly id: string;
  readonly owner: string;
  readonly source: string;
  /** Version of the copy. */
  readonly commit: string;
  /** Where the source is in the repository of the Git host; null for a source elsewhere. */
  readonly repository: RepositoryPlace | null;
  /** Folder of the source in its repository; '' for all of it, and for a folder. */
  readonly folder: string;
  /** The task that reads the manifest. */
  readonly task: PlanningTask & { readonly change: null };
}

interface ResourceName {
  readonly kind: KindName;
  readonly id: string;
}

/**
 * @throws ApiError `forbidden` for a credential of one workspace, because files and plans concern all of
 *   them; `notFound` for a resource that sync does not manage; `conflict` without a copy of the source
 */
export async function findManifest(
  { admin, forge }: ProposalDeps,
  { caller }: Pick<AdminRequest, 'caller'>,
  { kind, id: named }: ResourceName,
): Promise<ManagedManifest> {
  requireWholeOrganisation(caller);
  const { organisationId } = caller;
  const id = named.toLowerCase();
  const db = admin.database.readable;
  const [claim] = await managedResources.listPlaces(db, organisationId, kind, [id]);
  if (claim === undefined) {
    const message = `Sync manages no ${kind} with this id; change an unmanaged resource by its own route`;
    throw new ApiError('notFound', message, 'id');
  }
  const { owner, workspace, name } = claim;
  const { repo, file, line } = JSON.parse(claim.source) as ManagedBy['source'];
  const stored = await syncSources.findByOwner(db, organisationId, owner);
  if (stored === undefined || stored.files === null) {
    const why =
      stored === undefined
        ? 'has not left a copy of its source yet: run it once with this version of gatewright'
        : 'reads more than a copy may hold (8 MiB of text)';
    throw new ApiError(
      'conflict',
      `The sync ${owner} ${why}; or change the manifest in its repository`,
    );
  }
  const unsealer = await admin.keyring.unsealerOf(organisationId);
  const packed = unsealer.unseal(stored.files, placeOfSource(stored));
  const place = file === undefined || line === undefined ? null : { path: file, line };
  return {
    kind,
    id,
    owner,
    source: repo,
    commit: stored.commit_id,
    repository: forge?.placeOf(repo) ?? null,
    folder: isGitLocation(repo) ? parseGitLocation(repo).path : '',
    task: {
      packed,
      owner,
      identity: { kind, workspace: workspace === '' ? null : workspace, name },
      place,
      change: null,
    },
  };
}

/** @throws ApiError `invalid` for a change that cannot be made, `conflict` without the manifest */
export function requireResult<R extends ReadManifest | ChangedManifest>(result: PlanningResult): R {
  if (!('problem' in result)) return result as R;
  const kind = result.problem === 'invalid' ? 'invalid' : 'conflict';
  throw new ApiError(kind, result.message, result.problem === 'invalid' ? 'manifest' : 'id');
}

/** Where a change goes, for responses. */
export function deliveryOf({ forge }: ProposalDeps, { repository }: ManagedManifest) {
  const isRequest = forge !== null && repository !== null;
  return {
    delivery: isRequest ? ('pull-request' as const) : ('patch' as const),
    git_host: isRequest ? { form: forge.form, host: forge.host } : null,
  };
}
