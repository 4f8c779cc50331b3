/** Knows the codings in which answers are taken, and how a text is had out of one. */
import { promisify } from 'node:util';
import { gunzip, zstdDecompress } from 'node:zlib';

const decoders = { zstd: promisify(zstdDecompress), gzip: promisify(gunzip) } as const;

/** A body as it came. */
export interface CodedBody {
  readonly coding: keyof typeof decoders;
  readonly bytes: Buffer;
}

export const acceptEncoding = Object.keys(decoders).join(', ');

/** The longest text that is taken, however short it was on its way. */
export const answerBytesMax = 256 * 1024 * 1024;

export function isCoding(name: string): name is CodedBody['coding'] {
  return Object.hasOwn(decoders, name);
}

/** Rejects for what is damaged, and for more than {@link answerBytesMax}. */
export async function decoded({ coding, bytes }: CodedBody): Promise<string> {
  const text = await decoders[coding](bytes, { maxOutputLength: answerBytesMax });
  return text.toString();
}
