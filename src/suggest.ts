/** Suggests the known word that a misspelled word most likely means. */

/** Words that differ by more than this share of their length are not suggested. */
const distanceShareMax = 0.4;
const distanceMax = 3;

/**
 * The candidate nearest to `word` by edit distance, ignoring case, `-` and `_`. Undefined when none
 * is within `limit` edits. Never returns `word` itself, which was rejected. Ties are resolved
 * alphabetically, so that the result is stable.
 */
export function nearest(
  word: string,
  candidates: Iterable<string>,
  limit = limitFor(word),
): string | undefined {
  const wanted = simplified(word);
  let best: string | undefined;
  let bestDistance = limit;
  for (const candidate of candidates) {
    if (candidate === word) continue;
    const distance = editDistance(wanted, simplified(candidate), bestDistance + 1);
    if (distance > bestDistance) continue;
    if (distance === bestDistance && best !== undefined && best < candidate) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

function limitFor(word: string): number {
  const share = Math.floor(simplified(word).length * distanceShareMax);
  return Math.min(distanceMax, Math.max(1, share));
}

/** `did you mean "x"?`, or undefined when nothing is near. */
export function didYouMean(word: string, candidates: Iterable<string>): string | undefined {
  const known = [...candidates];
  // Suggests `retry` for `retries`, too.
  const found =
    nearest(word, known) ?? (word.endsWith('s') ? nearest(word.slice(0, -1), known) : undefined);
  return found === undefined ? undefined : `did you mean "${found}"?`;
}

function simplified(word: string): string {
  return word.replaceAll(/[-_]/g, '').toLowerCase();
}

/** Counts insertions, deletions, replacements and swaps of neighbours; stops at `limit`. */
function editDistance(one: string, two: string, limit: number): number {
  if (Math.abs(one.length - two.length) >= limit) return limit;
  let beforeLast: number[] = [];
  let last = Array.from({ length: two.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= two.length; column += 1) {
      const same = one[row - 1] === two[column - 1];
      let cost = Math.min(
        current[column - 1]! + 1,
        last[column]! + 1,
        last[column - 1]! + (same ? 0 : 1),
      );
      const swapped = one[row - 1] === two[column - 2] && one[row - 2] === two[column - 1];
      if (row > 1 && column > 1 && swapped) cost = Math.min(cost, beforeLast[column - 2]! + 1);
      current.push(cost);
    }
    // Later rows are never smaller than the minimum of two consecutive rows.
    if (Math.min(...current) >= limit && Math.min(...last) >= limit) return limit;
    beforeLast = last;
    last = current;
  }
  return Math.min(last[two.length]!, limit);
}
