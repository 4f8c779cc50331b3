/** Detects when a program that downloads files receives no data. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Longer than apt's own timeout, so that a second server has a chance. */
const arrivalTimeoutMs = 20_000;
const arrivalPollMs = 500;
/** CPU time in hundredths of a second. A program that only waits uses one or two in that time. */
const busyTicks = 10;

/**
 * Calls `onSilence` once when for 20 seconds no data was added below `work` and the program used no
 * CPU time: on a busy machine it may take long to process received data.
 */
export function watchArrival(
  work: string,
  pid: number | undefined,
  onSilence: (reason: Error) => void,
): Disposable {
  let bytesBefore: number | null = null;
  let ticksBefore = 0;
  let changedAt = performance.now();
  const timer = setInterval(() => {
    const bytes = bytesBelow(work);
    const ticks = ticksOf(pid);
    if (bytes !== bytesBefore || ticks - ticksBefore >= busyTicks) {
      changedAt = performance.now();
      ticksBefore = ticks;
    }
    bytesBefore = bytes;
    if (performance.now() - changedAt < arrivalTimeoutMs) return;
    clearInterval(timer);
    const seconds = arrivalTimeoutMs / 1000;
    onSilence(new Error(`no data from the package servers for ${seconds} s`));
  }, arrivalPollMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Null while the program moves files. */
function bytesBelow(directory: string): number | null {
  try {
    return readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
  } catch {
    return null;
  }
}

/** CPU time of a process and its ended children; 0 if unknown. */
function ticksOf(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The process name before, in parentheses, may contain any character.
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0);
  } catch {
    return 0;
  }
}
