/** Lists the files of the built documentation, and reads them from disk when they are requested. */
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

export interface DocsFile {
  readonly contentType: string;
  /** Whether the name contains a hash of the content. */
  readonly isHashed: boolean;
  /** The bytes on disk, compressed with gzip where the file is stored so. */
  read(): Promise<Buffer>;
  readonly isCompressed: boolean;
}

/** By address below the path of the documentation: `guides/console/`, `favicon.svg`; empty for the start page. */
export type DocsFiles = ReadonlyMap<string, DocsFile>;

/** Files with another ending are binary data of the search. */
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
};
const binary = 'application/octet-stream';
const hashedFolders = /^(?:_astro|scripts)\//;
const compressedEnding = '.gz';

/** Returns null where the folder does not exist, as in a clone without `npm run docs`. */
export function listDocsFiles(folder: string): DocsFiles | null {
  if (!existsSync(join(folder, `index.html${compressedEnding}`))) return null;
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  return new Map(
    paths.map((path) => {
      const isCompressed = path.endsWith(compressedEnding);
      const name = path
        .slice(folder.length + 1, isCompressed ? -compressedEnding.length : undefined)
        .replaceAll(sep, '/');
      const file: DocsFile = {
        contentType: types[extname(name)] ?? binary,
        isHashed: hashedFolders.test(name),
        isCompressed,
        read: () => readFile(path),
      };
      return [name.replace(/(^|\/)index\.html$/, '$1'), file];
    }),
  );
}

/** The content of a file for a client that does not accept gzip. */
export function decompress(bytes: Buffer): Promise<Buffer> {
  return promisify(gunzip)(bytes);
}
