/** Leaves a copy of the source on the server after each new version, for proposals of changes. */
import { isUtf8 } from 'node:buffer';
import { packSource, type SourceCopy, type SyncSource } from '../../model/kinds/sync-source.ts';
import { commitOf, type DesiredSet, type SourceInfo } from '../resources/resource-set.ts';
import type { AdminClient } from '../server/client.ts';
import { putSource } from '../server/sync-records.ts';
import type { SourceFiles } from '../source/source-files.ts';

interface PendingCopy {
  readonly commit: string;
  /** Null for files that cannot be copied. */
  readonly files: Promise<SyncSource['files']>;
}

/** A copy holds up neither a run nor a status report for longer. */
const sendMsMax = 10_000;

/** The newest version that was read, until the server has it. Each version is sent once. */
export class SourceCopies {
  #noted: string | null = null;
  /** Whether the server has no proposals, which only another version of it would change. */
  #isMissing = false;
  #pending: PendingCopy | null = null;

  /** Notes a version that was read; does nothing for the one that was noted last. */
  note(read: SourceFiles, { source, leftAlone }: Pick<DesiredSet, 'source' | 'leftAlone'>): void {
    const commit = commitOf(source);
    if (this.#isMissing || commit === this.#noted) return;
    this.#noted = commit;
    const foreign = new Set(leftAlone.foreignFiles);
    const files = read.files.filter(({ path }) => !foreign.has(path));
    const copy = copyOf({ ...read, files }, source);
    this.#pending = { commit, files: copy === null ? Promise.resolve(null) : packSource(copy) };
  }

  /**
   * Sends what was noted and not sent; repeats it with the next call after a failure.
   *
   * @throws what the client throws
   */
  async send(client: AdminClient, fence: number): Promise<void> {
    const pending = this.#pending;
    if (pending === null) return;
    const body: SyncSource = { commit: pending.commit, files: await pending.files };
    this.#isMissing = !(await putSource(client, fence, body, AbortSignal.timeout(sendMsMax)));
    if (this.#pending === pending) this.#pending = null;
  }
}

/** Null for files that are no text. */
function copyOf(
  { files, environments = [] }: SourceFiles,
  { repo, revision, environment = null }: SourceInfo,
): SourceCopy | null {
  if (!files.every(({ content }) => isUtf8(content))) return null;
  return {
    repo,
    revision,
    environment,
    environments: [...environments],
    files: files.map(({ content, ...file }) => ({ ...file, text: content.toString('utf8') })),
  };
}
