/** Runs test suites: `test-suites.mjs all`, or the name of a suite with arguments for its program. */
import { forwardSignals } from './children.mjs';
import { runSuites, stopOwnEngine, suitesOf } from './suites.mjs';

forwardSignals();
const [name, ...words] = process.argv.slice(2);
const code = await runSuites(suitesOf(name, words), { node: process.execPath });
await stopOwnEngine();
// Exits without waiting for the preparation of suites that no time was left for.
process.exit(code);
