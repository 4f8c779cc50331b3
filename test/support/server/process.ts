/** Checks and freezes other processes. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { eventually } from './eventually.ts';

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * Stops every thread of a process and waits until that took effect; a signal alone is asynchronous.
 */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await eventually(() => expect(new Set(threadStates(pid))).toEqual(new Set(['T'])));
}

function threadStates(pid: number): string[] {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).map(
    (task) => readFileSync(`${tasks}/${task}/stat`, 'latin1').split(') ')[1]!.split(' ')[0]!,
  );
}
