/** Reads and parses files with js-yaml and discards the result: the lower bound of `validate`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';

let count = 0;
for (const entry of readdirSync(process.argv[2]!, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  count += loadAll(readFileSync(join(entry.parentPath, entry.name), 'utf8')).length;
}
process.stdout.write(`${count}\n`);
