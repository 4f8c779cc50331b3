/** Installs npm packages that some suites need beside the development dependencies, once per clone. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const installMsMax = 240_000;

/** Creates the folder whole or not at all. Returns why that is impossible; null when it is there. */
export async function createOnce(
  folder: string,
  fill: (draft: string) => Promise<void>,
): Promise<string | null> {
  if (existsSync(folder)) return null;
  mkdirSync(dirname(folder), { recursive: true });
  const draft = mkdtempSync(`${folder}-draft-`);
  try {
    await fill(draft);
    renameSync(draft, folder);
    return null;
  } catch (error) {
    // Another run may have finished first.
    if (existsSync(folder)) return null;
    const { stderr = '', message } = error as Error & { stderr?: string };
    const [line] = (stderr.trim() || message).split('\n');
    return line!;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Installs packages at exact versions without their install scripts. Returns why that is impossible. */
export function installPackages(
  folder: string,
  packages: readonly string[],
  files: Readonly<Record<string, string>> = {},
): Promise<string | null> {
  return createOnce(folder, async (draft) => {
    const all = { 'package.json': '{ "private": true, "type": "module" }\n', ...files };
    for (const [name, content] of Object.entries(all)) writeFileSync(join(draft, name), content);
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--save-exact'];
    await runInstaller('npm', ['install', ...flags, ...packages], draft);
  });
}

export async function runInstaller(
  program: string,
  words: readonly string[],
  cwd: string,
): Promise<void> {
  await promisify(execFile)(program, words, { cwd, timeout: installMsMax });
}
