/** Runs long work in slices with turns of the event loop in between, so that other requests are served meanwhile. */

/** Work that yields where it may be interrupted. */
export type Slices<T> = Generator<void, T, void>;

/** A turn ends at the first interruption after this time; one step that cannot be interrupted may follow it. */
const turnMs = 5;

/** Bodies and texts from this length on are worked on in slices; for smaller ones a turn costs more than it gives. */
export const longLengthMin = 64 * 1024;

export function runAtOnce<T>(work: Slices<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** In turns if the work is long, at once otherwise. */
export function run<T>(work: Slices<T>, isLong: boolean): T | Promise<T> {
  return isLong ? runInTurns(work) : runAtOnce(work);
}

/** Begins in a turn of its own. */
export async function runInTurns<T>(work: Slices<T>): Promise<T> {
  await nextTurn();
  let began = performance.now();
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (performance.now() - began < turnMs) continue;
    await nextTurn();
    began = performance.now();
  }
}

/** Begins at once, and continues in turns where the work turns out to be long. */
export function runPromptly<T>(work: Slices<T>): T | Promise<T> {
  const began = performance.now();
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (performance.now() - began >= turnMs) return runInTurns(work);
  }
}

/** Interrupts a long loop of asynchronous steps that usually do not wait for anything. */
export class LoopTurns {
  #began = performance.now();

  /** Undefined while the turn may go on. */
  next(): Promise<void> | undefined {
    if (performance.now() - this.#began < turnMs) return undefined;
    return nextTurn().then(() => {
      this.#began = performance.now();
    });
  }
}

/** Work that waits for a turn, in its order. */
const waiting: (() => void)[] = [];
let isResuming = false;
/** Promises between a turn and the work that waits for it, with some to spare. */
const hopsMax = 6;

/**
 * Resolves in a later turn of the event loop. All work that waits shares the time of one turn, so that many long
 * works together hold the event loop no longer than one.
 */
export function nextTurn(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.push(resolve);
  if (!isResuming) {
    isResuming = true;
    setImmediate(resumeSome);
  }
  return promise;
}

/** Resumes work until the time of a turn is over; whatever waits again comes later. */
async function resumeSome(): Promise<void> {
  const began = performance.now();
  for (let left = waiting.length; left > 0; left -= 1) {
    waiting.shift()!();
    for (let hop = 0; hop < hopsMax; hop += 1) await undefined;
    if (performance.now() - began >= turnMs) break;
  }
  isResuming = waiting.length > 0;
  if (isResuming) setImmediate(resumeSome);
}
