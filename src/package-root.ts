/** Finds the folder of this program's package.json. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Searches upwards, because sources and bundled parts are at different depths. */
export function packageRoot(): string {
  // Not `import.meta.dirname`: old versions of Node, which src/main.ts rejects, lack it.
  for (let directory = dirname(fileURLToPath(import.meta.url)); ; directory = dirname(directory)) {
    if (existsSync(join(directory, 'package.json'))) return directory;
    if (directory === dirname(directory)) throw new Error('this installation has no package.json');
  }
}

/** The version of this program: `0.1.0`. */
export function packageVersion(): string {
  const manifest = readFileSync(join(packageRoot(), 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
