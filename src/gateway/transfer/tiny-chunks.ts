/** Knows when bytes come in pieces so small that keeping the pieces would cost a hundred times what they hold. */

/** As many as there may be of any size. */
const piecesMax = 4096;
const pieceBytesMin = 64;

/** Of `bytes` that came in so many pieces; nobody sends like that but to do harm. */
export function hasTinyChunks(pieces: number, bytes: number): boolean {
  return pieces > piecesMax && bytes < pieces * pieceBytesMin;
}
