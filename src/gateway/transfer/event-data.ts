/** Knows how events of a stream that goes on to a caller are read beside it. */

import { NotTranslatable } from '../../upstream/dialects/document-node.ts';
import { EventReader } from '../../upstream/dialects/event-reader.ts';

/** Yields what each event says that ends with these bytes; nothing more behind one that is too large to be read. */
export function eventDataReader(): (bytes: Buffer) => readonly string[] {
  const reader = new EventReader();
  let isOver = false;
  return (bytes) => {
    const told: string[] = [];
    if (isOver) return told;
    try {
      reader.push(bytes, (data) => told.push(data));
    } catch (thrown) {
      // It is passed on all the same.
      if (!(thrown instanceof NotTranslatable)) throw thrown;
      isOver = true;
    }
    return told;
  };
}

/** Undefined for what is no JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
