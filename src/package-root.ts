/** Knows where this program is installed: the folder of its package.json. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Sources lie at several depths and the parts of a bundle at another: the nearest package is ours. */
export function packageRoot(): string {
  // Not `import.meta.dirname`: an old Node, which is told so by `main`, lacks it.
  for (let directory = dirname(fileURLToPath(import.meta.url)); ; directory = dirname(directory)) {
    if (existsSync(join(directory, 'package.json'))) return directory;
    if (directory === dirname(directory)) throw new Error('this installation has no package.json');
  }
}

/** Of this program: `0.1.0`. */
export function packageVersion(): string {
  const manifest = readFileSync(join(packageRoot(), 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
