/** Reads manifests from the objects of a Git repository, never from a checkout. */
import { createHash } from 'node:crypto';
import { Failure } from '../../failure.ts';
import { EnvironmentFolders } from './environments.ts';
import { folderDepthMax, refuseExcess, tooDeep } from './folder.ts';
import type { GitAccess } from './git-command.ts';
import { GitHistory } from './git-history.ts';
import { describeGit, type GitLocation, parseGitLocation } from './git-location.ts';
import { type Entry, GitMirror } from './git-mirror.ts';
import { GitRemote, type ResolvedRef } from './git-remote.ts';
import { requireSignatures } from './git-signatures.ts';
import { digestOfRules } from './git-signers.ts';
import { IgnoreRules, parseIgnoreFile } from './ignore-rules.ts';
import {
  caseTwinFaults,
  fileFault,
  ignoreFileName,
  infoOf,
  isIgnoredName,
  isManifestName,
  type Source,
  type SourceFault,
  type SourceFile,
  type SourceFiles,
} from './source-files.ts';

export interface GitSourceOptions {
  /** Folder for bare mirrors; created when missing. */
  readonly cacheDirectory: string;
  readonly access: GitAccess;
  readonly signal?: AbortSignal | undefined;
  /** See {@link EnvironmentFolders}. */
  readonly environment?: string | null | undefined;
  /** Size limit of one fetch; a default when absent. */
  readonly fetchBytesMax?: number | undefined;
  /** Timeout of one git command. */
  readonly timeoutMs?: number | undefined;
}

const timeoutMsDefault = 60_000;
const fetchBytesMaxDefault = 1024 ** 3;

/**
 * Opens a repository at `URL#ref:path`. A read is pinned to one commit and takes plain files only.
 * A submodule or symbolic link that may stand for a manifest is a fault, because it would silently
 * be missing.
 *
 * @throws Failure (invalid input) when the location may not be used
 */
export function openGit(text: string, options: GitSourceOptions): Source {
  const location = parseGitLocation(text);
  const { cacheDirectory, access, signal, environment } = options;
  const { timeoutMs = timeoutMsDefault, fetchBytesMax = fetchBytesMaxDefault } = options;
  const gitOptions = { cacheDirectory, access, signal, timeoutMs, fetchBytesMax };
  const remote = new GitRemote(location, gitOptions);
  const mirror = new GitMirror(remote, mirrorName(location), gitOptions);
  const { signatures: rules } = access;
  const history = new GitHistory(remote, mirrorName(location), gitOptions);
  let last: ResolvedRef | undefined;
  /** The version of the last look, not read since. */
  let seen: ResolvedRef | undefined;
  const judge = async (resolved: ResolvedRef): Promise<void> => {
    if (rules === undefined) return;
    await history.fetch(resolved);
    await requireSignatures(location, resolved, { history, rules, options: gitOptions });
  };
  const readAt = async (resolved: ResolvedRef): Promise<SourceFiles> => {
    await judge(resolved);
    await mirror.fetch(resolved);
    last = resolved;
    return await readCommit(location, resolved, mirror, environment);
  };
  return {
    describe: describeGit(location),
    newest: async () => {
      seen = await remote.resolve();
      const signatures = rules === undefined ? {} : { signatures: digestOfRules(rules) };
      return { digest: null, revision: seen.commit, ...signatures };
    },
    read: async () => {
      const known = seen;
      seen = undefined;
      try {
        return await readAt(known ?? (await remote.resolve()));
      } catch (error) {
        // The commit may have disappeared from the repository since the look.
        if (known === undefined || !(error instanceof Failure)) throw error;
        const now = await remote.resolve();
        if (now.commit === known.commit) throw error;
        return await readAt(now);
      }
    },
    descent: async (earlier, commit) => {
      if (last?.commit !== commit) last = await remote.resolve();
      if (last.commit === commit) return await history.descent(earlier, last);
      throw new Failure('retryable', `${location.url} changed while it was read; try again`);
    },
  };
}

function mirrorName({ url, ref }: GitLocation): string {
  return createHash('sha256')
    .update(`${url}#${ref ?? ''}`)
    .digest('hex')
    .slice(0, 32);
}

async function readCommit(
  location: GitLocation,
  { commit }: ResolvedRef,
  mirror: GitMirror,
  environment: string | null | undefined,
): Promise<SourceFiles> {
  const entries = await mirror.list(commit, location.path);
  if (entries === undefined) {
    const where = `"${location.path}" in commit ${commit.slice(0, 12)}`;
    throw new Failure('invalidInput', `${describeGit(location)} has no folder ${where}`);
  }
  const faults: SourceFault[] = [];
  const environments = new EnvironmentFolders(environment);
  const counting = entries.filter(
    ({ path }) => !path.endsWith(`/${ignoreFileName}`) || !environments.leavesOut(path),
  );
  const rules = await readIgnoreRules(counting, mirror, faults);
  const links = entries.filter(isLinkByAnotherName);
  const linked = await mirror.linksToFiles(commit, location.path, links);
  const sieve = { rules, environments, faults };
  const wanted = entries.filter((entry) => !linked.has(entry) && isWanted(entry, sieve));
  refuseExcess(wanted.length, 0);
  const files = await mirror.read(wanted, faults);
  faults.push(...caseTwinFaults(files.map(({ path }) => path)));
  const info = infoOf(describeGit(location), commit, files);
  const { ignored } = rules;
  return { files, faults, ignored, environments: environments.met, info, prefix: '' };
}

/** Reads the rules of every folder. */
async function readIgnoreRules(
  entries: readonly Entry[],
  mirror: GitMirror,
  faults: SourceFault[],
): Promise<IgnoreRules> {
  const rules = new IgnoreRules();
  const wanted = entries.filter(({ mode, path }) => {
    const names = path.split('/');
    if (names.pop() !== ignoreFileName || names.some(isIgnoredName)) return false;
    if (mode.startsWith('100')) return true;
    const fix = 'replace it by the file itself';
    faults.push(fileFault(path, 'symbolic-link', 'is not a plain file', fix));
    return false;
  });
  refuseExcess(wanted.length, 0);
  const depthOf = ({ path }: SourceFile): number => path.split('/').length;
  const files = (await mirror.read(wanted, faults)).toSorted(
    (one, two) => depthOf(one) - depthOf(two),
  );
  for (const { path, content } of files) {
    const folder = path.slice(0, -ignoreFileName.length - 1);
    if (folder !== '' && rules.leavesOutFolder(folder)) continue;
    const parsed = parseIgnoreFile(path, content);
    faults.push(...parsed.faults);
    rules.add(folder, parsed.rules);
  }
  return rules;
}

/** A link whose name is no manifest's, unless it leads to a folder. */
function isLinkByAnotherName({ mode, path }: Entry): boolean {
  const isPlainName = !isManifestName(path) && !hasControlCharacters(path);
  return mode === '120000' && isPlainName && !path.endsWith(ignoreFileName);
}

function hasControlCharacters(path: string): boolean {
  return /[\\\u0000-\u001f\u007f]/.test(path) || path.includes('\uFFFD');
}

interface Sieve {
  readonly rules: IgnoreRules;
  readonly environments: EnvironmentFolders;
  readonly faults: SourceFault[];
}

function isWanted({ mode, path }: Entry, { rules, environments, faults }: Sieve): boolean {
  const parts = path.split('/');
  if (parts.some(isIgnoredName)) return false;
  // Rules are consulted only for what would be read or refused.
  const isPlain = mode !== '160000' && mode !== '120000';
  if (isPlain && !isManifestName(path)) return false;
  if (mode === '160000' ? rules.leavesOutFolder(path) : rules.leavesOut(path)) return false;
  if (environments.leavesOut(path)) return false;
  const refuse = (code: string, message: string, fix: string): false => {
    faults.push(fileFault(path.replaceAll(/[^\x20-\x7e]/g, '?'), code, message, fix));
    return false;
  };
  if (mode === '160000') {
    const fix = 'put the manifests into this repository';
    return refuse('submodule', 'submodules are not read', fix);
  }
  if (mode === '120000') {
    const fix = 'replace the link by the file or folder itself';
    return refuse('symbolic-link', 'symbolic links are not followed in Git', fix);
  }
  if (mode !== '100644' && mode !== '100755') {
    return refuse(
      'file-mode',
      `the mode ${mode} is not the mode of a plain file`,
      'commit it again',
    );
  }
  if (parts.length > folderDepthMax + 1) {
    faults.push(tooDeep(parts.slice(0, folderDepthMax + 1).join('/')));
    return false;
  }
  if (hasControlCharacters(path)) {
    return refuse(
      'file-name',
      'the name contains characters that are not allowed',
      'rename the file',
    );
  }
  return true;
}
