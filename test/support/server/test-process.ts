/** Starts Node processes for tests, which end with the test run, even when that is killed. */
import {
  type LeashedOptions,
  type StandardStream,
  spawnWithLeash,
} from '../../../src/embedded/leash.ts';

/** Runs a program, with arguments, by this Node. */
export function spawnTestProcess<
  const In extends StandardStream,
  const Out extends StandardStream,
  const Err extends StandardStream,
>(words: readonly string[], options: LeashedOptions<In, Out, Err>) {
  return spawnWithLeash([process.execPath, ...words], options).child;
}
