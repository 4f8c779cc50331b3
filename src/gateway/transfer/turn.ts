/** Knows how requests that come at the same time take their next step together. */

let waiting: (() => void)[] = [];
/** Requests whose next step can come at any time: those that have begun, and wait for their answer at most. */
let underWay = 0;
const atOnce = Promise.resolve();

/**
 * To be called when a request begins, and what it yields, any number of times, when its answer has begun or it
 * has ended: a stream that stays open takes no step together with others.
 */
export function countIn(): () => void {
  underWay += 1;
  let isIn = true;
  return () => {
    if (isIn) underWay -= 1;
    isIn = false;
  };
}

function goOn(): void {
  const all = waiting;
  waiting = [];
  for (const one of all) one();
}

/**
 * Resolves when all that has come in this turn of the event loop is read, to those who wait in the order
 * in which they asked. A step that many requests take one after the other finds its code in the caches of
 * the processor; each going all its way alone, every request fetches all of the way anew, which takes longer
 * than to go it (bench/README.md). A request that is the only one has nobody to wait for.
 */
export function untilAllIsRead(): Promise<void> {
  if (underWay <= 1) return atOnce;
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(goOn);
  });
}
