/** Test program that holds the embedded database of a home (argument 1) until it is killed. */
import { startEmbeddedDatabase } from '../../../src/embedded/embedded-database.ts';
import { acquireHomeLock } from '../../../src/embedded/home-lock.ts';

const home = process.argv[2]!;
acquireHomeLock(home);
const database = await startEmbeddedDatabase(home, { offline: true, progress: () => {} });
process.stdout.write(`${database.pid}\n`);
