/** Starts the Chromium of the machine, which comes from Debian, for tests of the console. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const installMsMax = 240_000;

/** Returns the path of the program, or null when there is none. */
function findChromium(): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const paths = folders.flatMap((folder) =>
    ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(folder, name)),
  );
  return paths.find((path) => existsSync(path)) ?? null;
}

/** Returns why no browser can be started; null when one can. In CI, Chromium is installed where it is missing. */
export function missingChromium(): string | null {
  if (findChromium() !== null) return null;
  if (process.env.CI === 'true' && process.getuid?.() === 0) installChromium();
  return findChromium() === null
    ? 'Chromium is not installed. On Debian: apt install chromium'
    : null;
}

/** With the recommended packages, which include fonts. */
function installChromium(): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const run = (...words: string[]): boolean =>
    spawnSync('apt-get', words, { stdio: 'ignore', env, timeout: installMsMax }).status === 0;
  const install = ['install', '-y', '-q', 'chromium'];
  if (!run(...install) && run('update', '-q')) run(...install);
}

/** A user namespace for the sandbox is not available to root. */
export function startChromium(): Promise<Browser> {
  const executablePath = findChromium()!;
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}
