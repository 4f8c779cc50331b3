/** Detects bodies in chunks so small that buffering them would cost a hundred times their size. */

/** Number of chunks that may have any size. */
const piecesMax = 4096;
const pieceBytesMin = 64;

/** Whether `bytes` arrived in so many `pieces` that only an attack explains it. */
export function hasTinyChunks(pieces: number, bytes: number): boolean {
  return pieces > piecesMax && bytes < pieces * pieceBytesMin;
}
