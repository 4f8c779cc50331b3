/** Knows whether a program that fetches files gets anything, or waits for servers that say nothing. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Longer than apt's own timeout, so that a second server has a chance. */
const arrivalTimeoutMs = 20_000;
const arrivalPollMs = 500;
/** Of the system's hundredths of a second. A program that only waits takes one or two in that time. */
const busyTicks = 10;

/**
 * Calls `onSilence` once, with the reason, when for a while nothing has been added below `work` and the
 * program has not worked either: on a busy machine it may take long to read what it has got.
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
    onSilence(new Error(`nothing came from the package servers for ${seconds} s`));
  }, arrivalPollMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Null while the program moves something. */
function bytesBelow(directory: string): number | null {
  try {
    return readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
  } catch {
    return null;
  }
}

/** How long a process and those of its children that have ended have worked; 0 where nobody says. */
function ticksOf(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name comes before, in parentheses, and may hold anything.
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0);
  } catch {
    return 0;
  }
}
