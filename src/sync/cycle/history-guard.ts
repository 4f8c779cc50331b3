/** Refuses a source that does not continue the last applied one: same repository, later commit. */
import type { CommandLine, Refusal } from '../plan/guards.ts';
import { readSourceText, sourceText } from '../resources/applied-source.ts';
import { commitOf, type SourceInfo } from '../resources/resource-set.ts';
import { parseGitLocation } from '../source/git-location.ts';
import { type Descent, descentCommitsMax } from '../source/source-files.ts';

/** The recorded origin of the last run that changed something. */
interface LastApplied {
  /** Number of the revision. */
  readonly number: number;
  /** See {@link sourceText}. */
  readonly source: string;
  /** Git commit id, or another text for sources outside Git. */
  readonly commit: string;
}

/** The newest revision, and a way to read all that are stored, newest first. */
export interface AppliedRevisions {
  readonly newest: LastApplied | null;
  readonly all: () => Promise<readonly LastApplied[]>;
}

export interface HistoryTerms {
  /** As `Source.descent`; also undefined when several sources are read as one. */
  readonly descent?:
    | ((earlier: string, commit: string) => Promise<Descent | undefined>)
    | undefined;
  /** Accept the current history of the source, whatever it is. */
  readonly acceptHistory?: boolean | undefined;
  readonly command: CommandLine;
}

/**
 * Returns why a source must not be applied after the last one, or null. Reasons are another
 * environment, another repository, or a rewritten history. The last two can be checked only between
 * Git sources: a folder has neither a stable address nor a history.
 *
 * @throws Failure when the repository is unreachable
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
    return refuseAfter(newest, 'the environment differs from the one that was applied last');
  }
  const last = revision === null ? undefined : await lastOfGit(applied);
  if (revision === null || last === undefined) return null;
  const refuse = (reason: string): Refusal => refuseAfter(last, reason);
  if (addressOf(source.repo) !== addressOf(readSourceText(last.source).repo)) {
    return refuse('the repository differs from the one that was applied last');
  }
  if (last.commit === revision) return null;
  const descent = (await terms.descent?.(last.commit, revision)) ?? 'descendant';
  if (descent === 'descendant') return null;
  return refuse(
    descent === 'unrelated'
      ? 'the commit does not descend from the one that was applied last: the history was rewritten, or the ref points elsewhere'
      : `the newest ${descentCommitsMax} commits do not show whether this one descends from the one that was applied last`,
  );
}

/** Resources that were adopted one by one came from no source. */
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

/**
 * Returns host and path, so that https and ssh addresses of one repository are equal, with and
 * without `.git`.
 */
function addressOf(repo: string): string {
  const { url } = parseGitLocation(repo);
  const [, host = '', path = ''] = /^\w+:\/\/(?:[^/@]*@)?([^/]*)(.*)$/.exec(url) ?? [];
  return `${host.toLowerCase()}${path.replace(/\/+$/, '').replace(/\.git$/, '')}`;
}
