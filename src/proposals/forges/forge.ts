/** Opens a pull request with one changed file, in steps that may be repeated after a lost response. */

/** One file of the repository as the host has it. */
interface ForgeFile {
  readonly text: string;
  /** Id of the content, or of the last commit; an update names it. */
  readonly id: string;
}

export interface PullRequest {
  /** Address for browsers. */
  readonly url: string;
  readonly number: number;
  readonly isOpen: boolean;
}

/** The requests that a host answers; each throws {@link ForgeRefusal}. */
export interface ForgeApi {
  /** `GitHub at api.github.com` */
  readonly name: string;
  defaultBranch(): Promise<string>;
  /** Returns the commit of a branch; null when there is none. */
  headOf(branch: string): Promise<string | null>;
  /** Returns null when the file does not exist there. `ref` is a branch or a commit. */
  readFile(path: string, ref: string): Promise<ForgeFile | null>;
  /** Does nothing when the branch exists. */
  createBranch(branch: string, commit: string): Promise<void>;
  updateFile(update: FileUpdate): Promise<void>;
  /** Returns the newest pull request of the branch, open or not; null when there is none. */
  findPullRequest(branch: string, base: string): Promise<PullRequest | null>;
  /** Returns null when the branch has one already. */
  createPullRequest(request: NewPullRequest): Promise<PullRequest | null>;
}

interface FileUpdate {
  readonly branch: string;
  readonly path: string;
  readonly text: string;
  readonly message: string;
  /** The id of the file that is replaced. */
  readonly id: string;
}

interface NewPullRequest {
  readonly branch: string;
  readonly base: string;
  readonly title: string;
  readonly body: string;
}

export interface Proposal {
  /** Path of the file in the repository. */
  readonly path: string;
  readonly before: string;
  readonly after: string;
  /** Branch that sync follows; null for the default branch of the repository. */
  readonly base: string | null;
  /** The same for every repetition of this proposal, and for no other one. */
  readonly branch: string;
  readonly title: string;
  readonly body: string;
}

/**
 * `stale`: the file in the repository differs from the one that sync has read. `refused`: the host
 * refused. `unreachable`: it gave no usable response, and a repetition may help.
 */
type RefusalReason = 'stale' | 'refused' | 'unreachable';

/** The message names host, status and fix, and contains no credential. */
export class ForgeRefusal extends Error {
  override name = 'ForgeRefusal';
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/**
 * The pull request that an earlier call for this branch has opened, also when it is closed; null for none.
 *
 * @throws ForgeRefusal
 */
export async function findOpened(
  api: ForgeApi,
  { branch, base }: Pick<Proposal, 'branch' | 'base'>,
): Promise<PullRequest | null> {
  return api.findPullRequest(branch, base ?? (await api.defaultBranch()));
}

/**
 * Creates branch, commit and pull request, as far as they do not exist yet. A repetition returns the
 * pull request of the first call, also when it is closed.
 *
 * @throws ForgeRefusal
 */
export async function openPullRequest(
  api: ForgeApi,
  proposal: Proposal,
): Promise<PullRequest & { readonly isNew: boolean }> {
  const { branch, title, body } = proposal;
  const base = proposal.base ?? (await api.defaultBranch());
  const known = await api.findPullRequest(branch, base);
  if (known !== null) return { ...known, isNew: false };
  const commit = await api.headOf(base);
  if (commit === null) {
    const message = `${api.name} has no branch ${base}, which sync follows: proposals need a branch, not a tag or a commit`;
    throw new ForgeRefusal('refused', message);
  }
  await requireCurrent(api, proposal, commit);
  await api.createBranch(branch, commit);
  await commitOnce(api, proposal);
  const made = await api.createPullRequest({ branch, base, title, body });
  if (made !== null) return { ...made, isNew: true };
  const raced = await api.findPullRequest(branch, base);
  if (raced !== null) return { ...raced, isNew: false };
  const message = `${api.name} did not open a pull request for the branch ${branch}: look at the rules for branches and pull requests there`;
  throw new ForgeRefusal('refused', message);
}

async function requireCurrent(
  api: ForgeApi,
  { path, before }: Proposal,
  commit: string,
): Promise<void> {
  const file = await api.readFile(path, commit);
  if (file?.text === before) return;
  const state = file === null ? 'does not exist' : 'has changed';
  const message = `${path} ${state} at ${api.name} since sync has read it: wait for the next run of sync, and edit the newer manifest`;
  throw new ForgeRefusal('stale', message);
}

/** Leaves a branch alone whose file is neither the old nor the new one: somebody works on it. */
async function commitOnce(api: ForgeApi, proposal: Proposal): Promise<void> {
  const { path, branch, before, after, title: message } = proposal;
  const file = await api.readFile(path, branch);
  if (file === null || file.text !== before) return;
  await api.updateFile({ branch, path, text: after, message, id: file.id });
}
