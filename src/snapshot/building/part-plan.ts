/** Decides into how many parts a table of an organisation is divided. */

/** Rows of a table that is not divided. */
export const undividedMax = 1024;
const rowsWanted = 512;
const rowsMin = 128;

/**
 * A power of two. The number of a table that was divided before stays while its parts have a fair size,
 * so that a row more does not rewrite all parts.
 */
export function partCount(rows: number, before: number): number {
  const isFair = before > 1 && rows / before >= rowsMin && rows / before <= undividedMax;
  if (isFair) return before;
  if (rows <= undividedMax) return 1;
  return 2 ** Math.ceil(Math.log2(rows / rowsWanted));
}

const organisationsOfPage = 64;
const pagesMax = 4096;

/** Number of pages for the list of organisations; a power of two that only grows. */
export function pageCount(organisations: number, before: number): number {
  let count = Math.max(1, before);
  while (count < pagesMax && organisations > count * organisationsOfPage) count *= 2;
  return count;
}
