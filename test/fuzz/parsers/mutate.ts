/** Changes inputs of parsers: bytes, tokens of the format, and pieces of other inputs. */
import type { SeededRandom } from '../../support/run/seeded-random.ts';

export interface MutationSources {
  /** Tokens of the format. */
  readonly dictionary: readonly Buffer[];
  /** Other inputs, from which pieces are taken. */
  readonly corpus: readonly Buffer[];
}

const bytesMax = 4_096;
const changesMax = 6;
const edgeBytes = [0, 1, 9, 10, 13, 32, 34, 45, 48, 58, 92, 127, 128, 192, 224, 240, 254, 255];

/** Returns a changed copy of at most 4 KiB. */
export function mutate(input: Buffer, random: SeededRandom, sources: MutationSources): Buffer {
  let bytes = input;
  const changes = random.integer(1, changesMax);
  for (let count = 0; count < changes; count += 1) bytes = changeOnce(bytes, random, sources);
  return bytes.subarray(0, bytesMax);
}

function changeOnce(bytes: Buffer, random: SeededRandom, sources: MutationSources): Buffer {
  const at = random.below(bytes.length + 1);
  const length = Math.min(bytes.length - at, 1 + random.below(random.pick([1, 4, 32, 512])));
  const insert = (piece: Buffer) =>
    Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)]);
  const replace = (piece: Buffer) =>
    Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at + length)]);
  switch (random.below(8)) {
    case 0:
      return replace(Buffer.of(random.below(256)));
    case 1:
      return insert(Buffer.of(random.pick(edgeBytes)));
    case 2:
      return replace(Buffer.alloc(0));
    case 3:
    case 4:
      return insert(tokenOf(random, sources));
    case 5:
      return replace(tokenOf(random, sources));
    case 6:
      return insert(bytes.subarray(at, at + length));
    default:
      return replace(pieceOf(random.pick(sources.corpus), random));
  }
}

function tokenOf(random: SeededRandom, { dictionary }: MutationSources): Buffer {
  return dictionary.length === 0 ? Buffer.of(random.below(256)) : random.pick(dictionary);
}

function pieceOf(other: Buffer, random: SeededRandom): Buffer {
  const from = random.below(other.length + 1);
  return other.subarray(from, from + random.below(other.length - from + 1));
}

/** A long input that repeats a piece, which shows work that grows faster than the input. */
export function amplified(input: Buffer, random: SeededRandom, bytes: number): Buffer {
  if (input.length === 0) return input;
  const from = random.below(input.length);
  const piece = input.subarray(from, from + 1 + random.below(Math.min(input.length - from, 16)));
  const middle = Buffer.alloc(bytes, piece);
  return Buffer.concat([input.subarray(0, from), middle, input.subarray(from)]);
}

/** Removes pieces of a failing input as long as it still fails; `fails` is called at most 2,000 times. */
export async function shorten(
  input: Buffer,
  fails: (candidate: Buffer) => Promise<boolean>,
): Promise<Buffer> {
  let best = input;
  let calls = 0;
  for (
    let size = Math.ceil(best.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let at = 0; at < best.length && calls < shortenCallsMax; ) {
      const candidate = Buffer.concat([best.subarray(0, at), best.subarray(at + size)]);
      calls += 1;
      if (await fails(candidate)) best = candidate;
      else at += size;
    }
  }
  return best;
}

const shortenCallsMax = 2_000;
