/** Writes the output of concurrent tasks as if they ran one after another. */

/**
 * Returns a function that opens a writer to `out`. The first open writer writes at once; the text of
 * the others is held back until all earlier writers have ended.
 */
export function orderOutput(out) {
  const writers = [];
  const flush = () => {
    while (writers.length > 0) {
      for (const text of writers[0].pending.splice(0)) out.write(text);
      if (!writers[0].hasEnded) return;
      writers.shift();
    }
  };
  return () => {
    const writer = { pending: [], hasEnded: false };
    writers.push(writer);
    return {
      write: (text) => {
        writer.pending.push(text);
        flush();
      },
      end: () => {
        writer.hasEnded = true;
        flush();
      },
    };
  };
}
