/** Builds the program that tests run as processes. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

export const projectRoot = resolve(import.meta.dirname, '../../..');

export interface BuiltProgram extends Disposable {
  readonly directory: string;
  /** Path of the built `main.js`, which starts in half the time of the sources. */
  readonly path: string;
}

/** Builds into a new folder inside the clone, whose package.json and migrations belong to it. */
export async function buildProgram(): Promise<BuiltProgram> {
  mkdirSync(join(projectRoot, '.cache'), { recursive: true });
  const directory = mkdtempSync(join(projectRoot, '.cache/built-'));
  const script = join(projectRoot, 'scripts/build.mjs');
  await promisify(execFile)(process.execPath, [script, directory], { cwd: projectRoot });
  return {
    directory,
    path: join(directory, 'main.js'),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  };
}
