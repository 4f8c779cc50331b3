/** Exports the committed files of the clone, from which a release is built. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

export interface ReleaseSource {
  /** Folder of the exported files, with the packages of the clone. */
  readonly folder: string;
  readonly version: string;
  /** Hash of the commit. */
  readonly commit: string;
  /** Time of the commit, which is the time of every built file. */
  readonly committedAt: Date;
  /** Address of the repository: of `origin`, else of the clone. */
  readonly repository: string;
}

/**
 * Exports the commit of the clone into a new folder.
 *
 * @throws Error when the clone has changes that are not committed
 */
export function exportSource(folder: string): ReleaseSource {
  const changes = git('status', '--porcelain');
  if (changes !== '') {
    const [first] = changes.split('\n');
    throw new Error(
      `the clone has changes that are not committed (${first!.trim()}): commit or stash them, because a release is built from a commit`,
    );
  }
  mkdirSync(folder, { recursive: true });
  const archive = execFileSync('git', ['archive', 'HEAD'], { cwd: root, maxBuffer: 2 ** 30 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return { folder, ...sourceFacts() };
}

/** Facts about the commit of the clone. */
export function sourceFacts(): Omit<ReleaseSource, 'folder'> {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return {
    version,
    commit: git('rev-parse', 'HEAD'),
    committedAt: new Date(Number(git('log', '-1', '--format=%ct')) * 1000),
    repository: repositoryAddress(),
  };
}

/** Without user names and passwords. */
function repositoryAddress(): string {
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY, CI_PROJECT_URL } = process.env;
  if (GITHUB_SERVER_URL && GITHUB_REPOSITORY)
    return `git+${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`;
  if (CI_PROJECT_URL) return `git+${CI_PROJECT_URL}`;
  let origin = '';
  try {
    origin = git('remote', 'get-url', 'origin');
  } catch {
    return 'git+https://gatewright.dev/gatewright';
  }
  const [, host, path] = /^(?:ssh:\/\/)?(?:[^@/]+@)([^:/]+)[:/](.+)$/.exec(origin) ?? [];
  if (host !== undefined) return `git+https://${host}/${path}`;
  return `git+${origin.replace(/^(https?:\/\/)[^@/]*@/, '$1')}`;
}

function git(...words: string[]): string {
  return execFileSync('git', words, { cwd: root, encoding: 'utf8', stdio: 'pipe' }).trim();
}
