/** Reads the files of a folder and digests them: the lower bound of loading a snapshot. */
import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

for (const name of readdirSync(process.argv[2]!)) {
  process.stdout.write(`${hash('sha256', readFileSync(join(process.argv[2]!, name)))}\n`);
}
