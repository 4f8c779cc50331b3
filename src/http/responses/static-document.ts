/**
 * Serves a large JSON document that is the same for all callers: rendered and compressed once, with an
 * entity tag.
 */
import { RawReply, type RouteRequest } from '../routes/route.ts';
import {
  chooseCoding,
  compressBytes,
  type DocumentCoding,
  documentCodings,
} from './content-coding.ts';
import { holdsTag, weakTagOf } from './entity-tag.ts';

type ConditionalRequest = Pick<RouteRequest<unknown>, 'ifNoneMatch' | 'acceptEncoding'>;

interface CompressedDocument {
  /** Weak, because all codings of the document share it. */
  readonly tag: string;
  readonly plain: Buffer;
  /** Filled as each compression finishes; until then the plain bytes are served. */
  readonly coded: Map<DocumentCoding, Buffer>;
}

/**
 * Creates a handler that responds to every request with the document of `make`. The first request calls
 * `make`; after a failure the next request calls it again.
 */
export function createStaticDocument(
  make: () => Promise<string>,
): (request: ConditionalRequest) => Promise<RawReply> {
  let pending: Promise<CompressedDocument> | null = null;
  const getDocument = (): Promise<CompressedDocument> => {
    pending ??= compress(make).catch((error: unknown) => {
      pending = null;
      throw error;
    });
    return pending;
  };
  return async (request) => respond(await getDocument(), request);
}

async function compress(make: () => Promise<string>): Promise<CompressedDocument> {
  const plain = Buffer.from(await make());
  const coded = new Map<DocumentCoding, Buffer>();
  for (const coding of documentCodings) {
    // If compression fails, for example for lack of memory, readers get the plain bytes.
    compressBytes(plain, coding).then(
      (bytes) => coded.set(coding, bytes),
      () => undefined,
    );
  }
  return { tag: weakTagOf(plain), plain, coded };
}

function respond(
  { tag, plain, coded }: CompressedDocument,
  { ifNoneMatch, acceptEncoding }: ConditionalRequest,
): RawReply {
  const cacheHeaders = { etag: tag, vary: 'accept-encoding', 'cache-control': 'no-cache' };
  if (holdsTag(ifNoneMatch, tag)) return new RawReply(304, null, cacheHeaders);
  // Closing the connection keeps a peer that does not read from filling kernel buffers repeatedly.
  const headers = { ...cacheHeaders, connection: 'close' };
  const coding = chooseCoding(
    acceptEncoding,
    documentCodings.filter((coding) => coded.has(coding)),
  );
  if (coding === null) return new RawReply(200, plain, headers);
  return new RawReply(200, coded.get(coding)!, { ...headers, 'content-encoding': coding });
}
