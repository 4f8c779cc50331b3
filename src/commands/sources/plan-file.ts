/** Reads and writes files of saved plans. */
import { randomUUID } from 'node:crypto';
import { lstat, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Failure } from '../../failure.ts';
import { looksLikePlan, parseSavedPlan, type SavedPlan } from '../../sync/review/saved-plan.ts';

/** Enough of a file to distinguish a plan from manifests. */
const beginningBytes = 200;
const fileBytesMax = 256 * 1024 * 1024;

/**
 * The saved plan in a file; undefined for a folder, manifests, or a missing file.
 *
 * @throws Failure (invalid input) for a plan that cannot be applied, or that is not the only path
 */
export async function readPlanFile(
  paths: readonly string[],
  cwd: string,
): Promise<SavedPlan | undefined> {
  for (const path of paths) {
    const file = resolve(cwd, path);
    if (!looksLikePlan((await beginningOf(file)) ?? '')) continue;
    if (paths.length > 1) {
      const message = `${path} is a plan, which is applied alone: leave the other ${paths.length - 1} out`;
      throw new Failure('invalidInput', message);
    }
    return parseSavedPlan(await readFile(file, 'utf8'), path);
  }
  return undefined;
}

/**
 * Writes the file atomically, readable by its owner only. Does not overwrite files other than plans.
 *
 * @throws Failure (invalid input) naming the file
 */
export async function writePlanFile(path: string, text: string): Promise<void> {
  const pending = join(dirname(path), `.gatewright-plan-${randomUUID()}`);
  try {
    await assertReplaceable(path);
    await writePending(pending, text);
    await rename(pending, path);
  } catch (error) {
    await rm(pending, { force: true });
    if (error instanceof Failure) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const message = `the plan cannot be written to ${path} (${code})`;
    throw new Failure('invalidInput', message, { cause: error });
  }
}

async function writePending(path: string, text: string): Promise<void> {
  await using file = await open(path, 'wx', 0o600);
  await file.writeFile(text);
  await file.sync();
}

async function assertReplaceable(path: string): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  if (there === undefined || (there.isFile() && there.size === 0)) return;
  if (there.isFile() && looksLikePlan((await beginningOf(path)) ?? '')) return;
  const message = `${path} is no plan and is not overwritten: name another file with --out`;
  throw new Failure('invalidInput', message);
}

/** Undefined for anything but a readable regular file; reading it later reports the error. */
async function beginningOf(path: string): Promise<string | undefined> {
  try {
    // Reading a pipe would wait for its writer and consume the data.
    const facts = await stat(path);
    if (!facts.isFile() || facts.size > fileBytesMax) return undefined;
    await using file = await open(path, 'r');
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(beginningBytes),
      0,
      beginningBytes,
      0,
    );
    return buffer.toString('utf8', 0, bytesRead);
  } catch {
    return undefined;
  }
}
