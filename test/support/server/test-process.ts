/** Starts Node processes for tests, which end with the test run, even when that is killed. */
import {
  type LeashedOptions,
  type StandardStream,
  spawnWithLeash,
} from '../../../src/embedded/leash.ts';

/** Runs a program, with arguments, by this Node; `launcher` is a program that starts another one in its place. */
export function spawnTestProcess<
  const In extends StandardStream,
  const Out extends StandardStream,
  const Err extends StandardStream,
>(
  words: readonly string[],
  options: LeashedOptions<In, Out, Err>,
  launcher: readonly string[] = [],
) {
  const [program, ...more] = [...launcher, process.execPath, ...words];
  return spawnWithLeash([program!, ...more], options).child;
}
