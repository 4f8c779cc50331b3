/** Writes docs/benchmarks.md and the claims of README from the result files: `npm run bench:publish`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { benchmarkPage, withClaims } from './page.ts';
import { readResults } from './result-files.ts';

const root = resolve(import.meta.dirname, '../..');
const results = readResults(join(root, 'bench/results'));
const readme = join(root, 'README.md');
writeFileSync(join(root, 'docs/benchmarks.md'), benchmarkPage(results));
writeFileSync(readme, withClaims(readFileSync(readme, 'utf8'), results));
process.stdout.write(`docs/benchmarks.md and README.md: ${results.length} results\n`);
