/** Knows how an answer is read that came compressed, which a provider may do although nobody asks for it. */
import {
  brotliDecompressSync,
  gunzipSync,
  inflateSync,
  type ZlibOptions,
  zstdDecompressSync,
} from 'node:zlib';
import type { ProviderHeaders } from '../../upstream/call.ts';

type Decode = (body: Buffer, options: Pick<ZlibOptions, 'maxOutputLength'>) => Buffer;

const decoders: Readonly<Record<string, Decode>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
};

/** What is larger is not read. */
const decodedBytesMax = 8 * 1024 * 1024;

/** The body as it is meant; null where it cannot be had. Nothing is done for one that came as it is. */
export function decodeBody(headers: ProviderHeaders, body: Buffer): Buffer | null {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding === 'identity') return body;
  const name = String(encoding).trim().toLowerCase();
  if (!Object.hasOwn(decoders, name)) return null;
  try {
    return decoders[name]!(body, { maxOutputLength: decodedBytesMax });
  } catch {
    return null;
  }
}

/** The answer as it is meant, or as it came where that cannot be had; then it still says its encoding. */
export function decodeResponse(
  headers: ProviderHeaders,
  body: Buffer,
): { readonly headers: ProviderHeaders; readonly body: Buffer } {
  const plain = decodeBody(headers, body);
  return plain === null
    ? { headers, body }
    : { headers: { ...headers, 'content-encoding': undefined }, body: plain };
}
