/** Knows how the heap is kept small: of a process that serves, one that mostly rests, and a run with much to go through. */
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Of both halves of the part for new objects. With half of it a request under load is more work by a
 * tenth, because what still waits for its answer is copied each time that it is full.
 */
const newObjectsBytes = 64 * 1024 * 1024;
const lookMs = 500;

/**
 * Left alone, the part of the heap for new objects doubles under load to many times what a start
 * needs, for requests that leave nothing behind; and what has outlived them is looked through when
 * it has grown to several times what is in use. The one grows up to a bound, the other is looked
 * through when it has doubled: what it may grow by counts the bytes of requests under way too, so that
 * with less it is looked through all the time where bodies are large. Sizes themselves can only be given
 * on Node's own command line, which is not ours, so that growth is let go and held instead. To be called
 * when the start is over, which needs room, and which keeps what it compiled for the next: other flags
 * than that one begins with would make it worthless.
 *
 * New objects of a kind that mostly lived on during the start would be made among the old ones for
 * good. Those of a request die young all the same; but what an old object holds, dead as it is, stays
 * until the old ones are looked through: a third of the processor time of a request was spent on that.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--heap-growing-percent=100');
  setFlagsFromString('--no-allocation-site-pretenuring');
  let mayGrow = true;
  setInterval(() => {
    const { space_size: bytes } = getHeapSpaceStatistics().find(
      ({ space_name: name }) => name === 'new_space',
    )!;
    if (mayGrow === bytes < newObjectsBytes) return;
    mayGrow = !mayGrow;
    setFlagsFromString(`--semi-space-growth-factor=${mayGrow ? 2 : 1}`);
  }, lookMs).unref();
}

/** What a heap may grow between two rests before it is worth the while to shrink it. */
const slackBytes = 8 * 1024 * 1024;

/**
 * Of a process that works for a moment and then rests for long. V8 keeps what such a moment took for
 * the next one: up to a quarter of the process, which nobody else can use.
 */
export class RestingHeap {
  #restingBytes = 0;

  /** Gives back what is free, where that is much; takes tens of ms, and longer where much is in use. */
  shrink(): void {
    if (heapBytes() - this.#restingBytes < slackBytes) return;
    collectAll();
    this.#restingBytes = heapBytes();
  }
}

function heapBytes(): number {
  return getHeapStatistics().total_physical_size;
}

/** Only the last resort of V8 also gives back the pages that it has emptied. */
function collectAll(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NodeJS.GCFunction;
  setFlagsFromString('--no-expose-gc');
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/** Sources from this size on are gone through in a small heap. */
const largeSourceBytes = 2 * 1024 * 1024;

/** Of a run: it keeps little of what it goes through, and needs no room for the rest. */
export class RunHeap implements Disposable {
  #isSmall = false;

  /** To be told of the source before it is read: what the heap has grown to by then, it stays. */
  makeReady(sourceBytes: number): void {
    if (sourceBytes < largeSourceBytes) return;
    this.#isSmall = true;
    setFlagsFromString('--semi-space-growth-factor=1');
    setFlagsFromString('--heap-growing-percent=100');
  }

  /** Goes back to what V8 begins with, under which alone compiled code is of use to the next start. */
  [Symbol.dispose](): void {
    if (!this.#isSmall) return;
    setFlagsFromString('--semi-space-growth-factor=2');
    setFlagsFromString('--heap-growing-percent=0');
  }
}
