/** Reads manifests from a folder, a single file or standard input. */
import {
  closeSync,
  constants,
  type Dirent,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { basename, dirname, join, normalize, resolve, sep } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { Failure } from '../../failure.ts';
import { oneLine } from '../../terminal-text.ts';
import { EnvironmentFolders } from './environments.ts';
import { FolderLook, type FolderReading } from './folder-look.ts';
import { IgnoreRules, parseIgnoreFile } from './ignore-rules.ts';
import {
  byCodeUnits,
  caseTwinFaults,
  fileBytesMax,
  fileFault,
  filesMax,
  ignoreFileName,
  infoOf,
  isIgnoredName,
  isManifestName,
  type Source,
  type SourceFault,
  type SourceFile,
  type SourceFiles,
  totalBytesMax,
} from './source-files.ts';

/** File name in faults of standard input. */
const stdinName = '<stdin>';
export const folderDepthMax = 50;
/** Limit of visited files and folders, so that a mistaken `/` ends soon. */
const namesMax = 200_000;

/**
 * Opens a folder (read with all subfolders) or a file. Reading is synchronous: for thousands of
 * small files it takes a fifth of the asynchronous time.
 *
 * @param location as the user wrote it, relative to `cwd`
 * @param environment see {@link EnvironmentFolders}
 * @throws Failure 5 when the file or folder does not exist or cannot be read.
 */
export function openFolder(
  location: string,
  cwd: string,
  environment?: string | null | undefined,
): Source {
  const place = resolve(cwd, location);
  const readTo = (places: Places): SourceFiles => readFolder(location, cwd, places, environment);
  let look: FolderLook | undefined;
  const readPlaces = (): FolderReading => {
    const folders: string[] = [];
    const files: string[] = [];
    const { info } = readTo({ folders, files });
    return { digest: info.digest, folders, files };
  };
  return {
    describe: location,
    newest: async () => {
      look ??= new FolderLook(place, readPlaces, Date.now);
      return { digest: look.digest(), revision: null };
    },
    read: async () => readTo({ folders: [], files: [] }),
  };
}

/**
 * Opens standard input, which is read once; `newest` never changes afterwards. Aborting `signal`
 * ends the wait for input.
 */
export function openStdin(stdin: Readable, signal: AbortSignal | undefined): Source {
  let reading: Promise<SourceFiles> | undefined;
  const read = (): Promise<SourceFiles> => {
    reading ??= readStdin(signal === undefined ? stdin : addAbortSignal(signal, stdin));
    return reading;
  };
  return {
    describe: 'standard input',
    newest: async () => ({ digest: (await read()).info.digest, revision: null }),
    read,
  };
}

async function readStdin(stdin: Readable): Promise<SourceFiles> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdin) {
    const buffer = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    bytes += buffer.length;
    if (bytes > fileBytesMax)
      return stdinFiles([], [tooLarge(stdinName, 'name files or a folder instead')]);
    chunks.push(buffer);
  }
  const content = Buffer.concat(chunks);
  return stdinFiles([{ path: stdinName, content, isNamed: true }], []);
}

function stdinFiles(files: SourceFile[], faults: SourceFault[]): SourceFiles {
  return { files, faults, ignored: [], info: infoOf('-', null, files), prefix: '' };
}

/** Real paths of what was read. */
interface Places {
  readonly folders: string[];
  readonly files: string[];
}

function readFolder(
  location: string,
  cwd: string,
  places: Places,
  environment: string | null | undefined,
): SourceFiles {
  const rules = new IgnoreRules();
  const environments = new EnvironmentFolders(environment);
  const found: FolderContents = {
    files: [],
    faults: [],
    rules,
    environments,
    bytes: 0,
    names: 0,
    places,
  };
  const place = resolve(cwd, location);
  let isFolder = false;
  try {
    isFolder = statSync(place).isDirectory();
    const root = realpathSync(place);
    if (isFolder) walk(found, { root, directory: root, prefix: '', depth: 0 });
    if (isFolder && found.files.length === 0) refuseBareRepository(root, location);
    if (!isFolder) readNamed(found, root, location);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw unreadable(location, place, error);
  }
  found.files.sort((one, two) => byCodeUnits(one.path, two.path));
  found.faults.push(...caseTwinFaults(found.files.map((file) => file.path)));
  const folder = normalize(isFolder ? location : dirname(location)).replace(/\/+$/, '');
  return {
    files: found.files,
    faults: found.faults,
    ignored: found.rules.ignored,
    environments: environments.met,
    info: infoOf(place, null, found.files),
    prefix: folder === '.' ? '' : `${folder}/`,
  };
}

/** A bare repository is a folder without manifests, which would count as an empty source. */
function refuseBareRepository(root: string, location: string): void {
  if (!['HEAD', 'objects', 'refs'].every((name) => existsSync(join(root, name)))) return;
  const message = `${oneLine(location)} is a Git repository without files; name it as file://${oneLine(root)}#branch`;
  throw new Failure('invalidInput', message);
}

/** Reads the one file that a location names. */
function readNamed(found: FolderContents, target: string, location: string): void {
  found.places.files.push(target);
  const read = readBounded(target);
  if (typeof read === 'string') {
    const fix = 'Name a file or folder, or - for standard input.';
    throw new Failure('invalidInput', `${oneLine(location)} is ${read}, which is not read. ${fix}`);
  }
  take(found, read, basename(resolve(location)), true);
}

interface FolderContents {
  readonly files: SourceFile[];
  readonly faults: SourceFault[];
  readonly rules: IgnoreRules;
  readonly environments: EnvironmentFolders;
  bytes: number;
  /** Number of visited folder entries. */
  names: number;
  readonly places: Places;
}

interface Folder {
  /** Real path of the source; nothing outside is read. */
  readonly root: string;
  readonly directory: string;
  /** Path from the root with a trailing `/`, or ''. */
  readonly prefix: string;
  readonly depth: number;
}

function walk(found: FolderContents, folder: Folder): void {
  found.places.folders.push(folder.directory);
  const entries = readdirSync(folder.directory, { withFileTypes: true });
  found.names += entries.length;
  if (found.names > namesMax) throw tooManyNames();
  if (entries.some(({ name }) => name === ignoreFileName)) addRules(found, folder);
  const { rules, environments } = found;
  for (const entry of entries) {
    if (isIgnoredName(entry.name)) continue;
    const path = `${folder.prefix}${entry.name}`;
    const target = join(folder.directory, entry.name);
    if (entry.isDirectory()) {
      if (rules.leavesOutFolder(path) || environments.leavesOut(`${path}/`)) continue;
      descend(found, { ...folder, directory: target }, path);
    } else if (entry.isSymbolicLink()) {
      if (!rules.leavesOut(path)) followLink(found, folder, entry, path);
    } else if (isManifestName(entry.name) && !rules.leavesOut(path)) readInto(found, target, path);
  }
}

function addRules(found: FolderContents, folder: Folder): void {
  const path = `${folder.prefix}${ignoreFileName}`;
  const target = resolveLink(join(folder.directory, ignoreFileName));
  if (target !== undefined) found.places.files.push(target);
  const read = target?.startsWith(folder.root + sep)
    ? readBounded(target)
    : 'a link to another folder';
  if (Buffer.isBuffer(read)) {
    const { rules, faults } = parseIgnoreFile(path, read);
    found.faults.push(...faults);
    found.rules.add(folder.prefix.slice(0, -1), rules);
  } else {
    found.faults.push(fileFault(path, 'ignore-file', notRead(read), 'replace it by a plain file'));
  }
}

function descend(found: FolderContents, folder: Folder, path: string): void {
  if (folder.depth >= folderDepthMax) {
    found.faults.push(tooDeep(path));
    return;
  }
  walk(found, { ...folder, prefix: `${path}/`, depth: folder.depth + 1 });
}

/** Follows a link to a file inside the root, as mounted ConfigMaps use them; rejects others. */
function followLink(found: FolderContents, folder: Folder, entry: Dirent, path: string): void {
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

function readInto(found: FolderContents, target: string, path: string): void {
  found.places.files.push(target);
  const read = readBounded(target);
  if (typeof read !== 'string') take(found, read, path, false);
  else found.faults.push(fileFault(path, 'file-type', notRead(read), 'replace it by a plain file'));
}

function take(
  found: FolderContents,
  content: Buffer | undefined,
  path: string,
  isNamed: boolean,
): void {
  if (content === undefined) {
    found.faults.push(tooLarge(path));
    return;
  }
  found.bytes += content.length;
  found.files.push({ path, content, ...(isNamed ? { isNamed } : {}) });
  refuseExcess(found.files.length, found.bytes);
}

/** Buffer of one byte more than the file size limit, reused by all reads. */
let room: Buffer | undefined;

/**
 * Returns the content of a file; undefined when it is too large, even if it grows while being read;
 * a description when it is not a file. Never waits for a pipe or a device.
 */
function readBounded(path: string): Buffer | undefined | string {
  room ??= Buffer.allocUnsafeSlow(fileBytesMax + 1);
  // A socket cannot even be opened.
  const other = typeOf(statSync(path));
  if (other !== undefined) return other;
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const swapped = typeOf(fstatSync(file));
    if (swapped !== undefined) return swapped;
    let bytes = 0;
    for (let read = -1; read !== 0 && bytes <= fileBytesMax; bytes += read) {
      read = readSync(file, room, bytes, room.length - bytes, null);
    }
    return bytes > fileBytesMax ? undefined : Buffer.from(room.subarray(0, bytes));
  } finally {
    closeSync(file);
  }
}

/** Describes what is not a plain file. */
function typeOf(facts: Stats): string | undefined {
  if (facts.isFile()) return undefined;
  if (facts.isFIFO()) return 'a named pipe';
  if (facts.isSocket()) return 'a socket';
  return facts.isDirectory() ? 'a folder' : 'a device';
}

function notRead(what: string | undefined): string {
  return what === undefined ? 'the file is too large' : `this is ${what}, which is not read`;
}

function tooManyNames(): Failure {
  const message = `The source contains more than ${namesMax} files and folders. Name a smaller folder.`;
  return new Failure('invalidInput', message);
}

/** @throws Failure 5 when a source exceeds its limits. */
export function refuseExcess(files: number, bytes: number): void {
  if (files <= filesMax && bytes <= totalBytesMax) return;
  const limit = `${filesMax} files and ${totalBytesMax / 1024 / 1024} MiB in all`;
  throw new Failure(
    'invalidInput',
    `The source is larger than ${limit}. Name a smaller folder, or put several resources into one file.`,
  );
}

export function tooDeep(path: string): SourceFault {
  const message = `more than ${folderDepthMax} folders deep`;
  return fileFault(path, 'folder-depth', message, 'move the manifests up');
}

export function tooLarge(
  path: string,
  fix = `split it into several files, or name it in ${ignoreFileName}`,
): SourceFault {
  const message = `the file is larger than ${fileBytesMax / 1024 / 1024} MiB`;
  return fileFault(path, 'file-too-large', message, fix);
}

function unreadable(location: string, place: string, error: unknown): Failure {
  const { code = 'unknown error', path = '' } = error as NodeJS.ErrnoException;
  const reason = reasons.get(code) ?? `Cannot read (${code})`;
  const below = path.startsWith(`${place}/`) ? path.slice(place.length) : '';
  const isMeantForGit = code === 'ENOENT' && /#[\w./:-]*$/.test(location);
  const hint = isMeantForGit
    ? `. A Git repository of this machine is file://${oneLine(place)}`
    : '';
  return new Failure('invalidInput', `${reason}: ${oneLine(location + below)}${hint}`, {
    cause: error,
  });
}

const reasons: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'No such file or folder'],
  ['EACCES', 'No permission to read'],
  ['EPERM', 'No permission to read'],
  ['ELOOP', 'The symbolic links form a loop'],
  ['ENAMETOOLONG', 'The name is too long'],
]);
