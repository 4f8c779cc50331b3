/** Knows nothing but that every suite runs with this Node. */
import { handOnSignals } from './children.mjs';
import { runSuites, suites } from './suites.mjs';

handOnSignals();
process.exitCode = await runSuites(suites, { node: process.execPath });
