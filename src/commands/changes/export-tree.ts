/** Writes exported files as a whole: checks every path first, and moves a finished tree into place. */
import { lstat, mkdir, mkdtemp, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Failure } from '../../failure.ts';
import type { ExportedFile } from '../../sync/export/export-files.ts';

const listedPathsMax = 5;

/**
 * Writes the files below `folder`, which may exist. Overwrites nothing; on an error, nothing of the
 * export remains.
 *
 * @throws Failure (invalid input) that names every path in the way, or the path that cannot be written
 */
export async function writeTree(folder: string, files: readonly ExportedFile[]): Promise<void> {
  const isNew = (await typeOf(folder)) === 'absent';
  await requireFree(folder, files);
  const staging = await makeStaging(folder, isNew);
  // The staging folder itself is readable by its owner only.
  const tree = join(staging, 'tree');
  try {
    for (const { path, text } of files) {
      const file = join(tree, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text, { flag: 'wx' });
    }
    if (isNew) await rename(tree, folder);
    else await moveInto(folder, tree, files);
  } catch (error) {
    const { code, path = folder } = error as NodeJS.ErrnoException;
    const place = path.replace(tree, folder);
    throw new Failure('invalidInput', `cannot write ${place}: (${code})`, { cause: error });
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/**
 * A new hidden folder, which sources ignore, on the file system of the target. The remains of a
 * killed run have another name.
 */
async function makeStaging(folder: string, isNew: boolean): Promise<string> {
  const parent = isNew ? dirname(folder) : folder;
  try {
    await mkdir(parent, { recursive: true });
    return await mkdtemp(join(parent, `.${basename(folder)}.export-`));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Failure('invalidInput', `cannot write ${folder}: (${code})`, { cause: error });
  }
}

type PathType = 'absent' | 'folder' | 'file';

async function typeOf(path: string): Promise<PathType> {
  try {
    return (await lstat(path)).isDirectory() ? 'folder' : 'file';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // ENOTDIR: a folder above it is a file, which is reported by itself.
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'absent';
    throw new Failure('invalidInput', `cannot write ${path}: (${code})`, { cause: error });
  }
}

/** @throws Failure (invalid input) when a file exists already, or a file is where a folder must be */
async function requireFree(folder: string, files: readonly ExportedFile[]): Promise<void> {
  const folders = new Set([folder, ...files.map(({ path }) => dirname(join(folder, path)))]);
  const taken: string[] = [];
  for (const path of folders) if ((await typeOf(path)) === 'file') taken.push(path);
  if (taken.length === 0) {
    for (const { path } of files) {
      const file = join(folder, path);
      if ((await typeOf(file)) !== 'absent') taken.push(file);
    }
  }
  if (taken.length === 0) return;
  const listed = taken.slice(0, listedPathsMax).join(', ');
  const hidden = taken.length - listedPathsMax;
  const all = hidden > 0 ? `${listed} and ${hidden} more` : listed;
  const verb = taken.length === 1 ? 'exists' : 'exist';
  throw new Failure(
    'invalidInput',
    `${all} ${verb} already; nothing was written: export into an empty folder`,
  );
}

/** Moves the files one by one, because the folder may contain others; takes them back on an error. */
async function moveInto(
  folder: string,
  tree: string,
  files: readonly ExportedFile[],
): Promise<void> {
  const placed: string[] = [];
  const created: string[] = [];
  try {
    for (const { path } of files) {
      const file = join(folder, path);
      const first = await mkdir(dirname(file), { recursive: true });
      if (first !== undefined) created.push(first);
      await rename(join(tree, path), file);
      placed.push(file);
    }
  } catch (error) {
    for (const file of placed) await rm(file, { force: true });
    for (const path of created) await removeEmpty(path);
    throw error;
  }
}

/** Files of other programs keep their folder. */
async function removeEmpty(folder: string): Promise<void> {
  const below = (await readdir(folder, { withFileTypes: true })).filter((one) => one.isDirectory());
  for (const { name } of below) await removeEmpty(join(folder, name));
  await rmdir(folder).catch(() => undefined);
}
