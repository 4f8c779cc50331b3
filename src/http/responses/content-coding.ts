/** Negotiates the content coding of a response (RFC 9110 12.5.3) and compresses bytes and streams. */
import { pipeline } from 'node:stream';
import { promisify } from 'node:util';
import { brotliCompress, constants, createGzip, createZstdCompress, gzip } from 'node:zlib';

/**
 * Codings for bytes that many readers get: the best levels. In order of preference; compression runs in a
 * thread of Node's pool.
 */
const compressors = {
  br: (bytes: Buffer) =>
    promisify(brotliCompress)(bytes, {
      params: {
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
        [constants.BROTLI_PARAM_LGWIN]: windowBits(bytes.length),
      },
    }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes),
} as const;

/** The smallest window that covers all bytes: the encoder takes up to 8 bytes for each byte of the window. */
function windowBits(byteCount: number): number {
  const bits = Math.ceil(Math.log2(byteCount + 16));
  return Math.min(
    Math.max(bits, constants.BROTLI_MIN_WINDOW_BITS),
    constants.BROTLI_DEFAULT_WINDOW,
  );
}

export type DocumentCoding = keyof typeof compressors;
export const documentCodings = Object.keys(compressors) as DocumentCoding[];

export function compressBytes(bytes: Buffer, coding: DocumentCoding): Promise<Buffer> {
  return compressors[coding](bytes);
}

/** The coding with the highest weight; `offered` is in order of preference. Null for none of them. */
export function chooseCoding<Coding extends string>(
  acceptEncoding: string | null,
  offered: readonly Coding[],
): Coding | null {
  const weights = new Map<string, number>();
  for (const part of (acceptEncoding ?? '').toLowerCase().split(',')) {
    const [name = '', weight] = part.split(';').map((piece) => piece.trim());
    weights.set(
      name,
      weight === undefined ? 1 : Number(/^q=([01](?:\.\d{0,3})?)$/.exec(weight)?.[1] ?? 0),
    );
  }
  const weightOf = (coding: Coding): number => weights.get(coding) ?? weights.get('*') ?? 0;
  const acceptable = offered.filter((coding) => weightOf(coding) > 0);
  return acceptable.toSorted((left, right) => weightOf(right) - weightOf(left))[0] ?? null;
}

/**
 * Codings for responses made for one reader: cheap levels, with a window that finds distant repetitions.
 */
const streams = {
  zstd: () =>
    createZstdCompress({
      params: {
        [constants.ZSTD_c_compressionLevel]: 3,
        [constants.ZSTD_c_windowLog]: 22,
      },
    }),
  gzip: () => createGzip({ level: 4 }),
} as const;
export const streamCodings = Object.keys(streams) as (keyof typeof streams)[];

/** Compresses on demand, so that only a few slices are in memory at a time. */
export function compressStream(
  slices: AsyncIterable<string>,
  coding: keyof typeof streams,
): AsyncIterable<Buffer> {
  // An error destroys the stream, which reports it to its reader.
  return pipeline(slices, streams[coding](), () => undefined);
}
