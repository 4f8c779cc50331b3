/**
 * Assembles tool calls from the chunks of a chat stream. Chunks of several calls can interleave, share
 * an index or have none, and name the call only once.
 */

/** The part of a call in one chunk of a stream. */
export interface CallPiece {
  /** Index of the call according to the model; null or undefined if it sends none. */
  readonly index: unknown;
  /** Position among the parts in the chunk. */
  readonly at: number;
  /** Null if absent; '' counts as absent. */
  readonly id: string | null;
  readonly name: string | null;
}

export interface StreamedCall {
  /** Null if the model sends none. */
  readonly id: string | null;
  name: string;
  /** The arguments so far; the caller of `take` appends to them. */
  arguments: string;
}

interface TrackedCall extends StreamedCall {
  readonly index: unknown;
  /** How often the arguments were checked for completeness. */
  checks: number;
}

/** More checks of a call that repeats its name in each chunk would cost more than they gain. */
const checksMax = 50;

export class StreamedCalls {
  readonly #all: TrackedCall[] = [];
  /** The latest call of each index. */
  readonly #byIndex = new Map<unknown, TrackedCall>();
  readonly #byId = new Map<string, TrackedCall>();

  /** In the order of their first chunks. */
  get all(): readonly StreamedCall[] {
    return this.#all;
  }

  /** Returns the call that the part belongs to; creates it if the part belongs to no earlier call. */
  take(piece: CallPiece): StreamedCall {
    const { at, name } = piece;
    const id = piece.id === '' ? null : piece.id;
    const index = piece.index ?? at;
    const sameId = id === null ? undefined : this.#byId.get(id);
    // Some models give several calls one id.
    if (sameId !== undefined && (piece.index ?? sameId.index) === sameId.index) return sameId;
    const latest = this.#byIndex.get(index);
    if (latest !== undefined && !isAnother(latest, id, name)) {
      // Joins a name that arrives in parts, and ignores one that is repeated with each part.
      if (name !== null && latest.arguments === '' && name !== latest.name) latest.name += name;
      return latest;
    }
    const begun = { id, index, name: name ?? '', arguments: '', checks: 0 };
    this.#all.push(begun);
    this.#byIndex.set(index, begun);
    if (id !== null) this.#byId.set(id, begun);
    return begun;
  }

  /** Whether the call is complete. */
  isWhole(call: StreamedCall): boolean {
    return isWhole(call as TrackedCall);
  }
}

/**
 * Whether a part with the same index starts another call. Some models give all calls the same index or
 * none, and some give each part an id of its own.
 */
function isAnother(latest: TrackedCall, id: string | null, name: string | null): boolean {
  if (name === null || name === '') return false;
  if (id !== null && latest.id !== null) return true;
  return (latest.arguments !== '' && name !== latest.name) || isWhole(latest);
}

function isWhole(call: TrackedCall): boolean {
  if (!call.arguments.trimEnd().endsWith('}') || call.checks >= checksMax) return false;
  call.checks += 1;
  try {
    JSON.parse(call.arguments);
    return true;
  } catch {
    return false;
  }
}
