/** Knows what was seen of lists that were read before: how long each was, and where some of its rows stand. */

/** Behind the first `offset` rows of a list, the last of which has this id; null at either end. */
export interface Place {
  readonly offset: number;
  readonly id: string | null;
}

/** What a list was while `stamp` stood, which anything that can change the list replaces. */
export interface SeenList {
  readonly stamp: string;
  readonly total: number;
  /** In the order of the list, its beginning and its end among them. */
  readonly places: Place[];
}

/** Rows to read: from a place on, after `skip` others, towards the end of the list or its beginning. */
export interface Stretch {
  readonly from: string | null;
  readonly isUp: boolean;
  readonly skip: number;
  readonly count: number;
}

const listsMax = 100;
const keyLengthMax = 4_000;
const placesMax = 1_000;
/** Nearer to one that is known a place is worth no memory: a page is as long. */
const distanceMin = 100;

/** Of one pool: the lists that were asked for last. */
export class ListMemory<Seen = SeenList> {
  readonly #lists = new Map<string, Seen>();

  find(key: string): Seen | undefined {
    const seen = this.#lists.get(key);
    if (seen === undefined) return undefined;
    this.#lists.delete(key);
    this.#lists.set(key, seen);
    return seen;
  }

  keep(key: string, seen: Seen): void {
    if (key.length > keyLengthMax) return;
    this.#lists.delete(key);
    this.#lists.set(key, seen);
    if (this.#lists.size > listsMax) this.#lists.delete(this.#lists.keys().next().value!);
  }
}

/** A list of which only the length is known. */
export function seenList(stamp: string, total: number): SeenList {
  const places = [
    { offset: 0, id: null },
    { offset: total, id: null },
  ];
  return { stamp, total, places };
}

/** The shortest way to rows of a list, of which there is at least one. */
export function stretchTo(
  { places, total }: SeenList,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Stretch {
  const end = Math.min(offset + limit, total);
  const before = placeBefore(places, offset);
  const behind = places[placesUpTo(places, end - 1)]!;
  const count = end - offset;
  const [down, up] = [offset - before.offset, behind.offset - end];
  return down <= up
    ? { from: before.id, isUp: false, skip: down, count }
    : { from: behind.id, isUp: true, skip: up, count };
}

/** The last that so many rows stand before at most. */
export function placeBefore(places: readonly Place[], offset: number): Place {
  return places[placesUpTo(places, offset) - 1]!;
}

/** Remembers that the row of this id is the last of the first `offset`, unless a place is near. */
export function notePlace({ places, total }: Omit<SeenList, 'stamp'>, place: Place): void {
  const at = placesUpTo(places, place.offset);
  const before = places[at - 1]!;
  const behind = places[at] ?? { offset: total };
  const distance = Math.max(distanceMin, total / placesMax);
  const isNear = Math.min(place.offset - before.offset, behind.offset - place.offset) < distance;
  if (!isNear) places.splice(at, 0, place);
}

/** How many of the places have at most so many rows before them. */
function placesUpTo(places: readonly Place[], offset: number): number {
  let [low, high] = [0, places.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (places[middle]!.offset <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}
