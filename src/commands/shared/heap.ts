/** Limits the heap of servers, of mostly idle daemons, and of runs over large sources. */
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Maximum size of the young generation (both semi-spaces). Half of it makes a request under load 10 %
 * slower, because the objects of pending requests are copied at each collection.
 */
const newObjectsBytes = 64 * 1024 * 1024;
const lookMs = 500;

/**
 * Bounds the growth of both generations. By default the young generation grows under load to many
 * times its size after startup, although requests leave nothing behind, and the old generation is
 * collected only after it has grown to several times its live size. Here the young generation grows up
 * to a bound, and the old generation is collected when it has doubled. A smaller factor would collect
 * constantly when bodies are large, because the bytes of pending requests count as well.
 *
 * Sizes can only be set on Node's command line, which belongs to the user, so growth is enabled and
 * limited instead. Call this after startup: startup needs the room, and compiled code is only cached
 * for the flags with which a process begins.
 *
 * Allocation sites whose objects mostly survived startup would allocate in the old generation for
 * ever. Objects of a request die young, but dead objects in the old generation keep what they reference
 * until the next full collection: a third of the processor time of a request was spent on that.
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

/** Growth between two idle phases that makes shrinking worthwhile. */
const slackBytes = 8 * 1024 * 1024;

/**
 * The heap of a process that works briefly and then idles for long. V8 retains the memory of the busy
 * phase for the next one: up to a quarter of the process.
 */
export class RestingHeap {
  #restingBytes = 0;

  /** Returns free memory to the system if it is much; takes tens of ms, longer for a large heap. */
  shrink(): void {
    if (heapBytes() - this.#restingBytes < slackBytes) return;
    collectAll();
    this.#restingBytes = heapBytes();
  }
}

function heapBytes(): number {
  return getHeapStatistics().total_physical_size;
}

/** Only V8's last-resort collection also returns emptied pages. */
function collectAll(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NodeJS.GCFunction;
  setFlagsFromString('--no-expose-gc');
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/** Sources from this size are processed with a small young generation. */
const largeSourceBytes = 2 * 1024 * 1024;

/** The heap of a run, which retains little of what it reads. */
export class RunHeap implements Disposable {
  #isSmall = false;

  /** Call before the source is read: the heap does not shrink below its size at this moment. */
  makeReady(sourceBytes: number): void {
    if (sourceBytes < largeSourceBytes) return;
    this.#isSmall = true;
    setFlagsFromString('--semi-space-growth-factor=1');
    setFlagsFromString('--heap-growing-percent=100');
  }

  /** Restores the initial flags of V8; cached code is only usable with them. */
  [Symbol.dispose](): void {
    if (!this.#isSmall) return;
    setFlagsFromString('--semi-space-growth-factor=2');
    setFlagsFromString('--heap-growing-percent=0');
  }
}
