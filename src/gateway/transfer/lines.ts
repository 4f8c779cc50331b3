/** Splits bytes into the lines of a JSON-lines file. */
import { GatewayError } from './gateway-error.ts';

const lineFeed = 0x0a;
const lineBytesMax = 64 * 1024 * 1024;

/**
 * Yields lines that are not blank.
 *
 * @throws GatewayError for a line that is too long
 */
export async function* linesOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  for await (const piece of pieces) {
    let from = 0;
    for (let end = piece.indexOf(lineFeed); end >= 0; end = piece.indexOf(lineFeed, from)) {
      const line = textOf([...held, piece.subarray(from, end)]);
      held = [];
      heldBytes = 0;
      from = end + 1;
      if (line !== '') yield line;
    }
    held.push(piece.subarray(from));
    heldBytes += piece.length - from;
    if (heldBytes > lineBytesMax) {
      throw new GatewayError('answer_too_large', 'A line of a file is too long');
    }
  }
  const last = textOf(held);
  if (last !== '') yield last;
}

function textOf(pieces: readonly Buffer[]): string {
  return Buffer.concat(pieces).toString('utf8').trim();
}
