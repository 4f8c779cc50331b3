/** Checks that an output file can be written before the work begins. */
import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Failure } from '../../failure.ts';
import { shellWord } from './shell-line.ts';

/**
 * The absolute path of a file that `--option` names. Missing folders are not created, because the path
 * may be mistyped.
 *
 * @throws Failure (invalid input) naming the option and what to do
 */
export async function outputFile(option: string, file: string, cwd: string): Promise<string> {
  const path = resolve(cwd, file);
  const refuse = (reason: string, fix: string): Failure =>
    new Failure('invalidInput', `--${option} ${file}: ${reason}; ${fix}`);
  const isFolder = async (place: string): Promise<boolean | undefined> =>
    (await stat(place).catch(() => undefined))?.isDirectory();
  const folder = dirname(path);
  const isThere = await isFolder(folder);
  if (isThere === undefined) {
    throw refuse(
      `the folder ${folder} does not exist`,
      `create it with: mkdir -p ${shellWord(folder)}`,
    );
  }
  if (!isThere) throw refuse(`${folder} is a file and no folder`, 'name another place');
  if (await isFolder(path)) throw refuse('that is a folder', 'name a file in it');
  return path;
}
