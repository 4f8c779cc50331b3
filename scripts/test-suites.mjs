/** Knows which suites are asked for: `test-suites.mjs all`, or a suite and words for its program. */
import { handOnSignals } from './children.mjs';
import { runSuites, stopOwnEngine, suitesOf } from './suites.mjs';

handOnSignals();
const [name, ...words] = process.argv.slice(2);
const code = await runSuites(suitesOf(name, words), { node: process.execPath });
await stopOwnEngine();
// What is still made ready for a suite for which no time was left is not waited for.
process.exit(code);
