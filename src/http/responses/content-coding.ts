/** Negotiates the content coding of a response (RFC 9110 12.5.3) and compresses streams. */
import { pipeline } from 'node:stream';
import { constants, createGzip, createZstdCompress } from 'node:zlib';

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
