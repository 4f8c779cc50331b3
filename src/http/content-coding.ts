/** Knows in which coding an answer goes out: the best-liked of those offered (RFC 9110 12.5.3). */
import { pipeline } from 'node:stream';
import { constants, createGzip, createZstdCompress } from 'node:zlib';

/** One of those offered, of which the first is ours among equals; null for none of them. */
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
  const liked = offered.filter((coding) => weightOf(coding) > 0);
  return liked.toSorted((one, other) => weightOf(other) - weightOf(one))[0] ?? null;
}

/** Codings of answers that are made for one reader: cheap ones, and whatever is repeated far apart is found. */
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

/** The text as it goes out, made as it is asked for: a few slices are in memory at once. */
export function coded(
  slices: AsyncIterable<string>,
  coding: keyof typeof streams,
): AsyncIterable<Buffer> {
  // What fails ends the stream, which tells its reader.
  return pipeline(slices, streams[coding](), () => undefined);
}
