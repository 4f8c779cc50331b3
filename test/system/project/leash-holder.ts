/** Knows how to hold a process, and one that it started, on a leash until this one is killed, for the tests. */
import { spawnLeashed } from '../../../src/embedded/leash.ts';

spawnLeashed(['/bin/sh', '-c', 'sleep 1000 & echo $!; wait'], { cwd: '/', output: 1 });
