/** Knows how manifests are read from a folder, a single file or standard input. */
import {
  closeSync,
  type Dirent,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, normalize, resolve, sep } from 'node:path';
import { Failure } from '../../failure.ts';
import {
  byCodeUnits,
  caseTwinFaults,
  fileBytesMax,
  fileFault,
  filesMax,
  infoOf,
  isIgnoredName,
  isManifestName,
  type Source,
  type SourceFault,
  type SourceFile,
  type SourceFiles,
  totalBytesMax,
} from './source-files.ts';

/** Name under which faults in standard input are reported. */
const stdinName = '<stdin>';
const folderDepthMax = 50;

/**
 * A folder (read with all its subfolders) or one file. Reading is synchronous on purpose: for
 * thousands of small files it costs a fifth of the asynchronous way.
 *
 * @param location as the user wrote it, relative to `cwd`
 * @throws Failure 5 when there is no such file or folder, or it cannot be read.
 */
export function openFolder(location: string, cwd: string): Source {
  const read = (): SourceFiles => readFolder(location, cwd);
  return {
    describe: location,
    newest: async () => ({ digest: read().info.digest, revision: null }),
    read: async () => read(),
  };
}

/** Standard input, read once; `newest` never changes after that. */
export function openStdin(stdin: AsyncIterable<Buffer | string>): Source {
  let reading: Promise<SourceFiles> | undefined;
  const read = (): Promise<SourceFiles> => {
    reading ??= readStdin(stdin);
    return reading;
  };
  return {
    describe: 'standard input',
    newest: async () => ({ digest: (await read()).info.digest, revision: null }),
    read,
  };
}

async function readStdin(stdin: AsyncIterable<Buffer | string>): Promise<SourceFiles> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdin) {
    const buffer = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    bytes += buffer.length;
    if (bytes > fileBytesMax) return stdinFiles([], [tooLarge(stdinName)]);
    chunks.push(buffer);
  }
  return stdinFiles([{ path: stdinName, content: Buffer.concat(chunks) }], []);
}

function stdinFiles(files: SourceFile[], faults: SourceFault[]): SourceFiles {
  return { files, faults, info: infoOf('-', null, files), prefix: '' };
}

function readFolder(location: string, cwd: string): SourceFiles {
  const found: Found = { files: [], faults: [], bytes: 0 };
  const place = resolve(cwd, location);
  let isFolder = false;
  try {
    isFolder = statSync(place).isDirectory();
    const root = realpathSync(place);
    if (isFolder) walk(found, { root, directory: root, prefix: '', depth: 0 });
    else readInto(found, root, basename(place));
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw unreadable(location, error);
  }
  found.files.sort((one, two) => byCodeUnits(one.path, two.path));
  found.faults.push(...caseTwinFaults(found.files.map((file) => file.path)));
  const folder = normalize(isFolder ? location : dirname(location)).replace(/\/+$/, '');
  return {
    files: found.files,
    faults: found.faults,
    info: infoOf(place, null, found.files),
    prefix: folder === '.' ? '' : `${folder}/`,
  };
}

interface Found {
  readonly files: SourceFile[];
  readonly faults: SourceFault[];
  bytes: number;
}

interface Folder {
  /** Real path of the source; nothing outside it is read. */
  readonly root: string;
  readonly directory: string;
  /** Path from the root with a trailing `/`, or ''. */
  readonly prefix: string;
  readonly depth: number;
}

function walk(found: Found, folder: Folder): void {
  for (const entry of readdirSync(folder.directory, { withFileTypes: true })) {
    if (isIgnoredName(entry.name)) continue;
    const path = `${folder.prefix}${entry.name}`;
    const target = join(folder.directory, entry.name);
    if (entry.isSymbolicLink()) followLink(found, folder, entry, path);
    else if (entry.isDirectory()) descend(found, { ...folder, directory: target }, path);
    else if (entry.isFile() && isManifestName(entry.name)) readInto(found, target, path);
  }
}

function descend(found: Found, folder: Folder, path: string): void {
  if (folder.depth >= folderDepthMax) {
    const message = `more than ${folderDepthMax} folders deep`;
    found.faults.push(fileFault(path, 'folder-depth', message, 'move the manifests up'));
    return;
  }
  walk(found, { ...folder, prefix: `${path}/`, depth: folder.depth + 1 });
}

/** A link to a file inside the root is followed (mounted ConfigMaps are made of them), others refused. */
function followLink(found: Found, folder: Folder, entry: Dirent, path: string): void {
  const target = resolveLink(join(folder.directory, entry.name));
  const isManifest = isManifestName(entry.name);
  const inside = target?.startsWith(folder.root + sep) ?? false;
  const wrong =
    target === undefined
      ? 'symbolic link to a file that does not exist'
      : statSync(target).isDirectory()
        ? 'symbolic link to a folder'
        : isManifest && !inside && 'symbolic link out of the source folder';
  if (wrong !== false) {
    const fix = 'replace the link by the file or folder itself';
    found.faults.push(fileFault(path, 'symbolic-link', wrong, fix));
  } else if (isManifest && target !== undefined) {
    readInto(found, target, path);
  }
}

function resolveLink(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function readInto(found: Found, target: string, path: string): void {
  const content = readBounded(target);
  if (content === undefined) {
    found.faults.push(tooLarge(path));
    return;
  }
  found.bytes += content.length;
  found.files.push({ path, content });
  refuseExcess(found.files.length, found.bytes);
}

/** One byte more than a file may have, for all reads in turn. */
let room: Buffer | undefined;

/** The content of a file; undefined when it is too large, also where it grows while it is read. */
function readBounded(path: string): Buffer | undefined {
  room ??= Buffer.allocUnsafeSlow(fileBytesMax + 1);
  const file = openSync(path, 'r');
  try {
    let bytes = 0;
    for (let read = -1; read !== 0 && bytes <= fileBytesMax; bytes += read) {
      read = readSync(file, room, bytes, room.length - bytes, null);
    }
    return bytes > fileBytesMax ? undefined : Buffer.from(room.subarray(0, bytes));
  } finally {
    closeSync(file);
  }
}

/** @throws Failure 5 when a source holds more than its limits allow. */
export function refuseExcess(files: number, bytes: number): void {
  if (files <= filesMax && bytes <= totalBytesMax) return;
  const limit = `${filesMax} files and ${totalBytesMax / 1024 / 1024} MiB in all`;
  throw new Failure(
    'invalidInput',
    `The source is larger than ${limit}. Name a smaller folder, or put several resources into one file.`,
  );
}

export function tooLarge(path: string): SourceFault {
  const message = `the file is larger than ${fileBytesMax / 1024 / 1024} MiB`;
  return fileFault(path, 'file-too-large', message, 'split it into several files');
}

function unreadable(location: string, error: unknown): Failure {
  const code = (error as NodeJS.ErrnoException).code;
  const reason =
    code === 'ENOENT'
      ? 'No such file or folder'
      : code === 'EACCES' || code === 'EPERM'
        ? 'No permission to read'
        : `Cannot read (${code ?? 'unknown error'})`;
  return new Failure('invalidInput', `${reason}: ${location}`, { cause: error });
}
