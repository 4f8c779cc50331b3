/** Starts Node processes for tests, which end with the test run, even when that is killed. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type LeashedOptions,
  type StandardStream,
  spawnWithLeash,
} from '../../../src/embedded/leash.ts';

/**
 * Node's own default folder. A program of TypeScript sources starts in half the processor time
 * when the compiled code of an earlier start is there.
 */
export const compileCache = { NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache') };

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
  const env = { ...compileCache, ...(options.env ?? process.env) };
  const [program, ...more] = [...launcher, process.execPath, ...words];
  return spawnWithLeash([program!, ...more], { ...options, env }).child;
}
