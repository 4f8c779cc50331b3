/** Compresses the texts of the built site, which the server of the console sends as they are stored. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

const texts = ['.html', '.js', '.css', '.json', '.svg'];
/** Interfaces of the search that the theme does not load: it has its own. */
const unused = /(?:^|\/)pagefind\/pagefind-(?:component-ui|modular-ui|highlight|ui)\./;

/** Replaces each text `name` by `name.gz`, and removes files that no page loads. */
export function packFiles(folder: string): void {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  for (const name of names) {
    const path = join(folder, name);
    if (unused.test(name)) rmSync(path);
    else if (texts.includes(extname(name))) {
      writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
      rmSync(path);
    }
  }
}
