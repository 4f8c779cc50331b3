/** Test program that holds a process and its child on a leash until this one is killed. */
import { spawnLeashed } from '../../../src/embedded/leash.ts';

spawnLeashed(['/bin/sh', '-c', 'sleep 1000 & echo $!; wait'], { cwd: '/', output: 1 });
