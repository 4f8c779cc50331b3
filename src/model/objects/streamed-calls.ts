/** Knows which call of a tool each piece belongs to that a chat streams: calls may take turns, share an index or have none, and say what they are but once. */

/** A piece of a call, as one chunk of a stream says it. */
export interface CallPiece {
  /** Which of the calls, as the model counts them; null or undefined where it does not. */
  readonly index: unknown;
  /** Its place among the pieces of the chunk. */
  readonly at: number;
  /** Null for none; '' is none. */
  readonly id: string | null;
  readonly name: string | null;
}

export interface StreamedCall {
  /** Null where the model gives none. */
  readonly id: string | null;
  name: string;
  /** What came of them by now; whoever takes the piece adds to them. */
  arguments: string;
}

interface KnownCall extends StreamedCall {
  readonly index: unknown;
  /** How often it was asked whether it is whole. */
  looks: number;
}

/** More looks at what repeats its name with each piece would cost more than they are worth. */
const looksMax = 50;

export class StreamedCalls {
  readonly #all: KnownCall[] = [];
  /** The latest of each index. */
  readonly #byIndex = new Map<unknown, KnownCall>();
  readonly #byId = new Map<string, KnownCall>();

  /** In the order in which they began. */
  get all(): readonly StreamedCall[] {
    return this.#all;
  }

  /** The call that the piece belongs to, which begins with it where it belongs to none before it. */
  take(piece: CallPiece): StreamedCall {
    const { at, name } = piece;
    const id = piece.id === '' ? null : piece.id;
    const index = piece.index ?? at;
    const named = id === null ? undefined : this.#byId.get(id);
    // Some give several calls one id.
    if (named !== undefined && (piece.index ?? named.index) === named.index) return named;
    const known = this.#byIndex.get(index);
    if (known !== undefined && !isAnother(known, id, name)) {
      // Of a name that comes in pieces, and of one that is said with each.
      if (name !== null && known.arguments === '' && name !== known.name) known.name += name;
      return known;
    }
    const begun = { id, index, name: name ?? '', arguments: '', looks: 0 };
    this.#all.push(begun);
    this.#byIndex.set(index, begun);
    if (id !== null) this.#byId.set(id, begun);
    return begun;
  }

  /** Whether nothing more can come of it. */
  isWhole(call: StreamedCall): boolean {
    return isWhole(call as KnownCall);
  }
}

/** Of one index: some give each call the same, or none, and some give each piece an id of its own. */
function isAnother(known: KnownCall, id: string | null, name: string | null): boolean {
  if (name === null || name === '') return false;
  if (id !== null && known.id !== null) return true;
  return (known.arguments !== '' && name !== known.name) || isWhole(known);
}

function isWhole(call: KnownCall): boolean {
  if (!call.arguments.trimEnd().endsWith('}') || call.looks >= looksMax) return false;
  call.looks += 1;
  try {
    JSON.parse(call.arguments);
    return true;
  } catch {
    return false;
  }
}
