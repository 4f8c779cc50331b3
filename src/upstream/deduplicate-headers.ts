/** Reduces repeated response headers to one, so that no reader interprets another one than the gateway. */

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Headers whose repetition with different values makes the response ambiguous. */
const decisive = new Set([
  'content-type',
  'content-length',
  'content-encoding',
  'content-range',
  'location',
]);
/** Headers of which the first one is used, as most readers do. */
const informative = new Set([
  'age',
  'content-disposition',
  'content-location',
  'date',
  'etag',
  'expires',
  'last-modified',
  'retry-after',
  'server',
]);

/** The response is ambiguous; the message names the header. */
class AmbiguousResponse extends Error {
  override name = 'AmbiguousAnswer';
  readonly code = 'AMBIGUOUS_ANSWER';
}

/**
 * Returns the headers with one value for each that must not repeat.
 *
 * @throws AmbiguousResponse when two values of a decisive header differ
 */
export function deduplicateHeaders(headers: Headers): Headers {
  let single: Record<string, string | string[] | undefined> | null = null;
  for (const name in headers) {
    const value = headers[name];
    // Most responses repeat none of these, so nothing is copied for them.
    if (!Array.isArray(value) || !(decisive.has(name) || informative.has(name))) continue;
    if (decisive.has(name) && !isSame(name, value)) {
      throw new AmbiguousResponse(`the answer has several headers ${name}`);
    }
    single ??= { ...headers };
    single[name] = value[0];
  }
  return single ?? headers;
}

/** A repeated content encoding means that the body is encoded twice. */
function isSame(name: string, values: readonly string[]): boolean {
  return name !== 'content-encoding' && values.every((value) => value === values[0]);
}
