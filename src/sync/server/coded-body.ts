/** Decodes compressed response bodies. */
import { promisify } from 'node:util';
import { gunzip, zstdDecompress } from 'node:zlib';

const decoders = { zstd: promisify(zstdDecompress), gzip: promisify(gunzip) } as const;

/** A body in its transfer encoding. */
export interface CodedBody {
  readonly coding: keyof typeof decoders;
  readonly bytes: Buffer;
}

export const acceptEncoding = Object.keys(decoders).join(', ');

/** Maximum size of a decoded text. */
export const answerBytesMax = 256 * 1024 * 1024;

export function isCoding(name: string): name is CodedBody['coding'] {
  return Object.hasOwn(decoders, name);
}

/** Rejects for damaged bodies and for texts longer than {@link answerBytesMax}. */
export async function decodeBody({ coding, bytes }: CodedBody): Promise<string> {
  const text = await decoders[coding](bytes, { maxOutputLength: answerBytesMax });
  return text.toString();
}
