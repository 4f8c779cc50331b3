/** Decompresses responses, which providers may compress although the gateway does not request it. */
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

/** Bound of a decompressed body. */
const decodedBytesMax = 8 * 1024 * 1024;

/** Returns the decompressed body; the same buffer when it is not compressed, null when it cannot be decompressed. */
export function decompressBody(headers: ProviderHeaders, body: Buffer): Buffer | null {
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

/** Decompresses a response; returns it unchanged, with its encoding header, when that fails. */
export function decodeResponse(
  headers: ProviderHeaders,
  body: Buffer,
): { readonly headers: ProviderHeaders; readonly body: Buffer } {
  const plain = decompressBody(headers, body);
  return plain === null
    ? { headers, body }
    : { headers: { ...headers, 'content-encoding': undefined }, body: plain };
}
