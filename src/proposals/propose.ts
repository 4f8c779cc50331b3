/** Plans changes of manifests, and opens pull requests for them. */
import { createHash } from 'node:crypto';
import { auditChange } from '../admin/request/change.ts';
import type { AdminRequest } from '../admin/request/deps.ts';
import { resources } from '../admin/resources.ts';
import { snapshotText } from '../admin/snapshot.ts';
import { ApiError } from '../model/wire/errors.ts';
import { validationError } from '../model/wire/validation-error.ts';
import * as syncLeases from '../store/sync/sync-leases.ts';
import type { Forge, RepositoryPlace } from './forges/create-forge.ts';
import { ForgeRefusal, openPullRequest, type Proposal, type PullRequest } from './forges/forge.ts';
import {
  deliveryOf,
  findManifest,
  type ManagedManifest,
  requireResult,
} from './managed-manifest.ts';
import type { ChangedManifest } from './planning/planning-task.ts';
import type { Change, OpenedProposal, ProposalPreview } from './proposal-bodies.ts';
import type { ProposalDeps } from './proposal-deps.ts';

type Author = Pick<AdminRequest, 'caller' | 'now' | 'requestId'>;

/** A change that is planned, and has not been sent anywhere. */
interface PlannedProposal {
  readonly found: ManagedManifest;
  readonly changed: ChangedManifest;
}

export async function preview(
  deps: ProposalDeps,
  request: Author & { readonly body: Change },
): Promise<ProposalPreview> {
  const { found, changed } = await plan(deps, request);
  const { path, manifest, after, patch, faults } = changed;
  return {
    object: 'proposal_preview',
    path,
    manifest,
    file: after,
    patch,
    plan: changed.plan,
    faults: [...faults],
    ...deliveryOf(deps, found),
  };
}

interface ProposalRequest extends Author {
  readonly body: Change & {
    readonly proposal_key: string;
    readonly title?: string | undefined;
    readonly description?: string | undefined;
  };
}

export async function propose(
  deps: ProposalDeps,
  request: ProposalRequest,
): Promise<OpenedProposal> {
  const planned = await plan(deps, request);
  const { found, changed } = planned;
  const { forge } = deps;
  if (forge === null || found.repository === null) throw withoutHost(forge, found);
  const fault = changed.faults.find((one) => one.is_new);
  if (fault !== undefined) {
    const message = `cannot be proposed: ${fault.path}:${fault.line}:${fault.column}: ${fault.message}`;
    throw validationError({ path: ['manifest'], message });
  }
  if (changed.patch === '')
    throw validationError({ path: ['manifest'], message: 'changes nothing' });
  const proposal = proposalOf(request, planned, found.repository);
  const facts = {
    branch: proposal.branch,
    path: proposal.path,
    base: found.commit,
    host: forge.host,
  };
  await audit(deps, request, found, { ...facts, step: 'requested' });
  const opened = await openAt(forge, proposal);
  await audit(deps, request, found, {
    ...facts,
    step: 'opened',
    url: opened.url,
    is_new: opened.isNew,
  });
  return {
    object: 'proposal',
    url: opened.url,
    number: opened.number,
    branch: proposal.branch,
    path: proposal.path,
    is_open: opened.isOpen,
    is_new: opened.isNew,
  };
}

/** @throws ApiError `conflict` for a base that sync has left; see {@link findManifest} */
async function plan(
  deps: ProposalDeps,
  request: Author & { readonly body: Change },
): Promise<PlannedProposal> {
  const { caller, body, now } = request;
  const { manifest = null, spec = null } = body;
  if ((manifest === null) === (spec === null)) {
    throw validationError({ path: ['manifest'], message: 'is required, or spec; not both' });
  }
  const found = await findManifest(deps, request, body);
  if (found.commit !== body.base) {
    const message = `Sync has read ${found.commit} since ${body.base}: read the manifest again and repeat the change`;
    throw new ApiError('conflict', message, 'base');
  }
  const { organisationId } = caller;
  const { owner, folder, task } = found;
  const result = await deps.planner.run(async () => {
    const lease = await syncLeases.find(deps.admin.database.readable, organisationId, owner);
    const view = { organisationId, owner, callerId: lease?.principal_id ?? '' };
    const snapshot = await snapshotText(deps.admin, resources, view);
    return { ...task, change: { manifest, spec, folder, snapshot, now } };
  });
  return { found, changed: requireResult<ChangedManifest>(result) };
}

function withoutHost(forge: Forge | null, { source }: ManagedManifest): ApiError {
  const message =
    forge === null
      ? 'No Git host is configured: copy the patch of the preview, or set GATEWRIGHT_PROPOSALS_REPOSITORY and GATEWRIGHT_PROPOSALS_TOKEN'
      : `GATEWRIGHT_PROPOSALS_REPOSITORY is another repository than the source ${source}: copy the patch of the preview`;
  return new ApiError('conflict', message);
}

/** Names the branch after the change, so that a repetition finds it. */
function proposalOf(
  { caller, body }: ProposalRequest,
  { found, changed }: PlannedProposal,
  { base }: RepositoryPlace,
): Proposal {
  const { path: file, before, after } = changed;
  const path = found.folder === '' ? file : `${found.folder}/${file}`;
  requireInside(path);
  const { kind, name } = found.task.identity;
  const title = body.title ?? `Change ${kind} ${name}`;
  const parts = [caller.organisationId, body.proposal_key, path, before, after];
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
  const words = `${kind}-${name}`
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 60);
  const author = `Proposed by ${caller.name} in the console of gatewright, for the manifest at ${file}:${changed.line}.`;
  return {
    path,
    before,
    after,
    base,
    branch: `gatewright-${words.replace(/-+$/, '')}-${digest}`,
    title,
    body: body.description === undefined ? author : `${body.description}\n\n${author}`,
  };
}

/** The names come from runs of sync; the Git host must read them as they are. */
function requireInside(path: string): void {
  const isOutside = path.split('/').some((part) => /^(?:\.{0,2}|\.git)$/i.test(part));
  if (!isOutside) return;
  throw new ApiError('conflict', `The file ${path} is not in the repository: copy the patch`, 'id');
}

/** @throws ApiError `conflict` for a stale file and for a refusal, `unavailable` without a response */
async function openAt(
  forge: Forge,
  proposal: Proposal,
): Promise<PullRequest & { readonly isNew: boolean }> {
  try {
    return await openPullRequest(forge.api, proposal);
  } catch (error) {
    if (!(error instanceof ForgeRefusal)) throw error;
    const kind = error.reason === 'unreachable' ? 'unavailable' : 'conflict';
    const param = error.reason === 'stale' ? 'base' : '';
    throw new ApiError(kind, error.message, param, { cause: error });
  }
}

/** The request is recorded before anything is written at the Git host, the result after it. */
async function audit(
  { admin }: ProposalDeps,
  author: Author,
  { kind, id }: ManagedManifest,
  facts: Record<string, unknown>,
): Promise<void> {
  await admin.database.transaction(async (tx) => {
    await auditChange(tx, admin, author, {
      action: 'create',
      kind: 'PullRequest',
      resourceId: id,
      workspaceId: null,
      changes: { kind, ...facts },
    });
  });
}
