/** Knows how the heap of a process that serves is kept small. */
import { setFlagsFromString } from 'node:v8';

/**
 * Left alone, the part of the heap for new objects doubles under load to eight times what a start
 * needs, for requests that leave nothing behind; and what has outlived them is looked through when
 * it has grown to several times what is in use. The one grows no further, the other is looked
 * through sooner: memory that buys no time. Sizes themselves can only be given on Node's own command
 * line, which is not ours. To be called when the start is over, which needs room, and which keeps what
 * it compiled for the next: other flags than that one begins with would make it worthless.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--heap-growing-percent=40');
}
