/** Knows how to hold a child by the pipe alone until it is killed, for the tests. */
import { spawn } from 'node:child_process';
import { watchParent } from '../../src/embedded/leash.ts';

const child = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
watchParent(child);
process.stdout.write(`${child.pid}\n`);
