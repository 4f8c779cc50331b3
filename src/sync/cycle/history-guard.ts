/** Knows whether a source is still the one that was applied last: the same repository, and a later commit of it. */
import type { CommandLine, Refusal } from '../plan/guards.ts';
import { readSourceText, sourceText } from '../resources/applied-source.ts';
import { commitOf, type SourceInfo } from '../resources/resource-set.ts';
import { parseGitLocation } from '../source/git-location.ts';
import { type Descent, descentCommitsMax } from '../source/source-files.ts';

/** What the server has recorded of the last run that changed something. */
interface LastApplied {
  /** Number of the revision. */
  readonly number: number;
  /** See {@link sourceText}. */
  readonly source: string;
  /** Commit id of Git, or something else of what is no Git. */
  readonly commit: string;
}

/** The newest revision, and where that is none of Git all that are kept, newest first. */
export interface AppliedRevisions {
  readonly newest: LastApplied | null;
  readonly all: () => Promise<readonly LastApplied[]>;
}

export interface HistoryTerms {
  /** As `Source.descent`; undefined, too, where several sources are read as one. */
  readonly descent?:
    | ((earlier: string, commit: string) => Promise<Descent | undefined>)
    | undefined;
  /** Take whatever history the source has now. */
  readonly acceptHistory?: boolean | undefined;
  readonly command: CommandLine;
}

/**
 * Why a source must not be applied after what was applied last, or null: it is of another environment, of
 * another repository or of another history. Of the last two only one Git repository after another can be
 * judged: a folder has neither an address that is the same everywhere nor a history.
 *
 * @throws Failure when the repository is out of reach
 */
export async function findHistoryRefusal(
  source: SourceInfo,
  applied: AppliedRevisions,
  terms: HistoryTerms,
): Promise<Refusal | null> {
  if (terms.acceptHistory === true) return null;
  const { revision, environment = null } = source;
  const refuseAfter = (last: LastApplied, reason: string): Refusal => ({
    deletes: 0,
    message: `Refused: ${reason}.
  applied last:                ${last.source} at ${last.commit} (revision ${last.number})
  now:                         ${sourceText(source)} at ${commitOf(source)}
  If that is meant:            ${terms.command({ 'accept-history': true })}`,
  });
  const newest = environment === null ? undefined : await lastOfSource(applied);
  const before = newest === undefined ? null : readSourceText(newest.source).environment;
  if (newest !== undefined && before !== null && before !== environment) {
    return refuseAfter(newest, 'the environment is another one than that which was applied last');
  }
  const last = revision === null ? undefined : await lastOfGit(applied);
  if (revision === null || last === undefined) return null;
  const refuse = (reason: string): Refusal => refuseAfter(last, reason);
  if (addressOf(source.repo) !== addressOf(readSourceText(last.source).repo)) {
    return refuse('the source is another repository than the one that was applied last');
  }
  if (last.commit === revision) return null;
  const descent = (await terms.descent?.(last.commit, revision)) ?? 'descendant';
  if (descent === 'descendant') return null;
  return refuse(
    descent === 'unrelated'
      ? 'the commit does not come after the one that was applied last: history was rewritten, or the ref points elsewhere'
      : `whether the commit comes after the one that was applied last cannot be told from the newest ${descentCommitsMax}`,
  );
}

/** Resources that were handed over one by one came from no source. */
async function lastOfSource({ newest, all }: AppliedRevisions): Promise<LastApplied | undefined> {
  if (newest?.commit !== 'none') return newest ?? undefined;
  return (await all()).find(({ commit }) => commit !== 'none');
}

async function lastOfGit({ newest, all }: AppliedRevisions): Promise<LastApplied | undefined> {
  if (newest === null || isCommit(newest.commit)) return newest ?? undefined;
  return (await all()).find(({ commit }) => isCommit(commit));
}

function isCommit(text: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
}

/** Host and path: the same repository over https and ssh, with `.git` and without. */
function addressOf(repo: string): string {
  const { url } = parseGitLocation(repo);
  const [, host = '', path = ''] = /^\w+:\/\/(?:[^/@]*@)?([^/]*)(.*)$/.exec(url) ?? [];
  return `${host.toLowerCase()}${path.replace(/\/+$/, '').replace(/\.git$/, '')}`;
}
