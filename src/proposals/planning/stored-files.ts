/** Turns the stored copy of a source into the files that sync reads. */
import type { SourceCopy } from '../../model/kinds/sync-source.ts';
import { byCodeUnits, infoOf, type SourceFiles } from '../../sync/source/source-files.ts';

export function filesOfCopy(copy: SourceCopy): SourceFiles {
  const { repo, revision, environment, environments } = copy;
  const files = copy.files
    .map(({ text, ...file }) => ({ ...file, content: Buffer.from(text) }))
    .sort((one, two) => byCodeUnits(one.path, two.path));
  const info = infoOf(repo, revision, files, environment);
  return { files, faults: [], ignored: [], environments, info, prefix: '' };
}

/** The same files with another text of one of them. */
export function withText(source: SourceFiles, path: string, text: string): SourceFiles {
  const { repo, revision, environment } = source.info;
  const files = source.files.map((file) =>
    file.path === path ? { ...file, content: Buffer.from(text) } : file,
  );
  return { ...source, files, info: infoOf(repo, revision, files, environment) };
}
