/** Reads the data of stream events while the stream is passed on to a caller. */

import { NotTranslatable } from '../../upstream/documents/document-node.ts';
import { EventReader } from '../../upstream/documents/event-reader.ts';

/** Returns a function that returns the data of the events that end in the given bytes; stops after an oversized event. */
export function eventDataReader(): (bytes: Buffer) => readonly string[] {
  const reader = new EventReader();
  let isOver = false;
  return (bytes) => {
    const events: string[] = [];
    if (isOver) return events;
    try {
      reader.push(bytes, (data) => events.push(data));
    } catch (thrown) {
      // The stream is still passed on.
      if (!(thrown instanceof NotTranslatable)) throw thrown;
      isOver = true;
    }
    return events;
  };
}
