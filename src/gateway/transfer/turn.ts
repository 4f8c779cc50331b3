/** Knows how requests that come at the same time take their next step together. */

let waiting: (() => void)[] = [];

function goOn(): void {
  const all = waiting;
  waiting = [];
  for (const one of all) one();
}

/**
 * Resolves when all that has come in this turn of the event loop is read, to those who wait in the order
 * in which they asked. A step that many requests take one after the other finds its code in the caches of
 * the processor; each going all its way alone, every request fetches all of the way anew, which takes longer
 * than to go it (bench/README.md).
 */
export function untilAllIsRead(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(goOn);
  });
}
