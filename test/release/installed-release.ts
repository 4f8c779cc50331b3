/** Installs the npm package of a release into an empty folder. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns the command that runs the installed program. @throws Error with the output of npm */
export function installRelease(archive: string, folder: string): readonly string[] {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const flags = ['--omit=dev', '--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund'];
  execFileSync('npm', ['install', ...flags, archive], { cwd: folder, stdio: 'pipe' });
  return [process.execPath, join(folder, 'node_modules/gatewright/dist/main.js')];
}
