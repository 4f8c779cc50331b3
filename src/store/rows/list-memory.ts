/** Remembers lists that were read: the length of each and the offsets of some of its rows. */

/** The row of this id is the last of the first `offset` rows of a list; null at either end. */
export interface RowOffset {
  readonly offset: number;
  readonly id: string | null;
}

/** A list while `stamp` was current; every change of the list replaces the stamp. */
export interface RememberedList {
  readonly stamp: string;
  readonly total: number;
  /** In the order of the list, including its beginning and its end. */
  readonly offsets: RowOffset[];
}

/** A range of rows to read: starting at a row, after `skip` others, towards the end or (`isUp`) the beginning. */
export interface RowRange {
  readonly from: string | null;
  readonly isUp: boolean;
  readonly skip: number;
  readonly count: number;
}

const listsMax = 100;
const keyLengthMax = 4_000;
const offsetsMax = 1_000;
/** Minimum distance of remembered offsets, the length of a page. */
const distanceMin = 100;

/** The most recently used lists of one pool. */
export class ListMemory<Entry = RememberedList> {
  readonly #lists = new Map<string, Entry>();

  find(key: string): Entry | undefined {
    const entry = this.#lists.get(key);
    if (entry === undefined) return undefined;
    this.#lists.delete(key);
    this.#lists.set(key, entry);
    return entry;
  }

  keep(key: string, entry: Entry): void {
    if (key.length > keyLengthMax) return;
    this.#lists.delete(key);
    this.#lists.set(key, entry);
    if (this.#lists.size > listsMax) this.#lists.delete(this.#lists.keys().next().value!);
  }
}

/** A list of which only the length is known. */
export function newRememberedList(stamp: string, total: number): RememberedList {
  const offsets = [
    { offset: 0, id: null },
    { offset: total, id: null },
  ];
  return { stamp, total, offsets };
}

/** The range with the fewest skipped rows that covers a page, which has at least one row. */
export function rangeOf(
  { offsets, total }: RememberedList,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): RowRange {
  const end = Math.min(offset + limit, total);
  const before = offsetBefore(offsets, offset);
  const after = offsets[countUpTo(offsets, end - 1)]!;
  const count = end - offset;
  const [down, up] = [offset - before.offset, after.offset - end];
  return down <= up
    ? { from: before.id, isUp: false, skip: down, count }
    : { from: after.id, isUp: true, skip: up, count };
}

/** The last remembered offset up to `offset`. */
export function offsetBefore(offsets: readonly RowOffset[], offset: number): RowOffset {
  return offsets[countUpTo(offsets, offset) - 1]!;
}

/** Remembers an offset, unless a remembered one is near. */
export function noteOffset(
  { offsets, total }: Omit<RememberedList, 'stamp'>,
  row: RowOffset,
): void {
  const at = countUpTo(offsets, row.offset);
  const before = offsets[at - 1]!;
  const after = offsets[at] ?? { offset: total };
  const distance = Math.max(distanceMin, total / offsetsMax);
  const isNear = Math.min(row.offset - before.offset, after.offset - row.offset) < distance;
  if (!isNear) offsets.splice(at, 0, row);
}

/** Number of remembered offsets up to `offset`. */
function countUpTo(offsets: readonly RowOffset[], offset: number): number {
  let [low, high] = [0, offsets.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (offsets[middle]!.offset <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}
