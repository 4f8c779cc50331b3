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
import {
  ForgeRefusal,
  findOpened,
  openPullRequest,
  type Proposal,
  type PullRequest,
} from './forges/forge.ts';
import {
  deliveryOf,
  findManifest,
  type ManagedManifest,
  requireResult,
} from './managed-manifest.ts';
import type { ChangedManifest, ReadManifest } from './planning/planning-task.ts';
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
  const found = await findManifest(deps, request, request.body);
  const { changed } = await plan(deps, request, found);
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
  const { forge } = deps;
  const found = await findManifest(deps, request, request.body);
  if (found.commit !== request.body.base) return openedBefore(deps, request, found);
  const planned = await plan(deps, request, found);
  const { changed } = planned;
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
  const opened = await atHost(() => openPullRequest(forge.api, proposal));
  await audit(deps, request, found, {
    ...facts,
    step: 'opened',
    url: opened.url,
    is_new: opened.isNew,
  });
  return openedProposal(opened, proposal, opened.isNew);
}

function openedProposal(
  { url, number, isOpen }: PullRequest,
  { branch, path }: Pick<Proposal, 'branch' | 'path'>,
  isNew: boolean,
): OpenedProposal {
  return { object: 'proposal', url, number, branch, path, is_open: isOpen, is_new: isNew };
}

/**
 * Repeats the response to a proposal that was made before sync has read another commit. Its own pull request may
 * have been merged since, so that the change cannot be planned again.
 *
 * @throws ApiError `conflict` when there is no pull request of this proposal
 */
async function openedBefore(
  deps: ProposalDeps,
  request: ProposalRequest,
  found: ManagedManifest,
): Promise<OpenedProposal> {
  requireOneForm(request.body);
  const { forge } = deps;
  if (forge === null || found.repository === null) throw withoutHost(forge, found);
  const { base } = found.repository;
  const branch = branchOf(request, found);
  const opened = await atHost(() => findOpened(forge.api, { branch, base }));
  if (opened === null) throw staleBase(request.body, found);
  const path = inRepository(found, await pathOf(deps, found));
  const { url } = opened;
  const facts = { branch, path, base: request.body.base, host: forge.host };
  await audit(deps, request, found, { ...facts, step: 'opened', url, is_new: false });
  return openedProposal(opened, { branch, path }, false);
}

/** File of the manifest, relative to the source. */
async function pathOf({ planner }: ProposalDeps, { task }: ManagedManifest): Promise<string> {
  if (task.place !== null) return task.place.path;
  return requireResult<ReadManifest>(await planner.run(async () => task)).path;
}

function staleBase({ base }: Change, { commit }: ManagedManifest): ApiError {
  const message = `Sync has read ${commit} since ${base}: read the manifest again and repeat the change`;
  return new ApiError('conflict', message, 'base');
}

function requireOneForm({ manifest, spec }: Change): void {
  if ((manifest === undefined) !== (spec === undefined)) return;
  throw validationError({ path: ['manifest'], message: 'is required, or spec; not both' });
}

/** @throws ApiError `conflict` for a base that sync has left */
async function plan(
  deps: ProposalDeps,
  request: Author & { readonly body: Change },
  found: ManagedManifest,
): Promise<PlannedProposal> {
  const { caller, body, now } = request;
  const { manifest = null, spec = null } = body;
  requireOneForm(body);
  if (found.commit !== body.base) throw staleBase(body, found);
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

/**
 * Names the branch after the change as it was sent, so that a repetition finds it, whatever sync has read since.
 */
function branchOf(
  { caller, body }: ProposalRequest,
  { kind, id, task }: Pick<ManagedManifest, 'kind' | 'id' | 'task'>,
): string {
  const { proposal_key: key, manifest = null, spec = null } = body;
  const parts = [caller.organisationId, key, kind, id, manifest, spec];
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
  const words = `${kind}-${task.identity.name}`
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 60);
  return `gatewright-${words.replace(/-+$/, '')}-${digest}`;
}

function inRepository({ folder }: ManagedManifest, file: string): string {
  return folder === '' ? file : `${folder}/${file}`;
}

function proposalOf(
  request: ProposalRequest,
  { found, changed }: PlannedProposal,
  { base }: RepositoryPlace,
): Proposal {
  const { caller, body } = request;
  const { path: file, before, after } = changed;
  const path = inRepository(found, file);
  requireInside(path);
  const { kind, name } = found.task.identity;
  const title = body.title ?? `Change ${kind} ${name}`;
  const author = `Proposed by ${caller.name} in the console of gatewright, for the manifest at ${file}:${changed.line}.`;
  return {
    path,
    before,
    after,
    base,
    branch: branchOf(request, found),
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
async function atHost<Result>(ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask();
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
