/** Knows how a large JSON document that is the same for all is served: made once, compressed once, by tag. */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { chooseCoding } from './content-coding.ts';
import { holdsTag } from './entity-tag.ts';
import { RawReply, type RouteRequest } from './route.ts';

type Asking = Pick<RouteRequest<unknown>, 'ifNoneMatch' | 'acceptEncoding'>;

/** Codings by preference; what compressing costs is paid by a thread of its own. */
const compressors = {
  br: (text: Buffer) =>
    promisify(brotliCompress)(text, {
      params: { [constants.BROTLI_PARAM_SIZE_HINT]: text.length },
    }),
  gzip: (text: Buffer) => promisify(gzip)(text),
} as const;
type Coding = keyof typeof compressors;
const codings = Object.keys(compressors) as Coding[];

interface Made {
  /** Weak, because every coding of the document bears it. */
  readonly tag: string;
  readonly plain: Buffer;
  /** Filled as compressing ends; until then the plain bytes are served. */
  readonly coded: Map<Coding, Buffer>;
}

/**
 * Answers every request with the same bytes, which `make` writes when first asked for; one that
 * failed is made again.
 */
export function createDocument(
  make: () => Promise<string>,
): (request: Asking) => Promise<RawReply> {
  let making: Promise<Made> | null = null;
  const made = (): Promise<Made> => {
    making ??= finish(make).catch((error: unknown) => {
      making = null;
      throw error;
    });
    return making;
  };
  return async (request) => answer(await made(), request);
}

async function finish(make: () => Promise<string>): Promise<Made> {
  const plain = Buffer.from(await make());
  const hash = createHash('sha256').update(plain).digest('base64url').slice(0, 22);
  const coded = new Map<Coding, Buffer>();
  for (const coding of codings) {
    // A failure to compress, for want of memory, costs the readers bytes and nothing else.
    compressors[coding](plain).then(
      (bytes) => coded.set(coding, bytes),
      () => undefined,
    );
  }
  return { tag: `W/"${hash}"`, plain, coded };
}

function answer({ tag, plain, coded }: Made, { ifNoneMatch, acceptEncoding }: Asking): RawReply {
  const revalidated = { etag: tag, vary: 'accept-encoding', 'cache-control': 'no-cache' };
  if (holdsTag(ifNoneMatch, tag)) return new RawReply(304, null, revalidated);
  // The kernel takes what nobody reads: a connection is given so much of its memory once.
  const headers = { ...revalidated, connection: 'close' };
  const coding = chooseCoding(
    acceptEncoding,
    codings.filter((one) => coded.has(one)),
  );
  if (coding === null) return new RawReply(200, plain, headers);
  return new RawReply(200, coded.get(coding)!, { ...headers, 'content-encoding': coding });
}
