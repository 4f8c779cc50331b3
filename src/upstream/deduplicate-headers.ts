/** Knows which headers of an answer stand in it once, so that nobody reads another than we do. */

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Two that differ, and nobody knows what the bytes are, or where they lead. */
const decisive = new Set([
  'content-type',
  'content-length',
  'content-encoding',
  'content-range',
  'location',
]);
/** The first counts, as most readers have it. */
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

/** An answer that can be read in two ways; its text names the header. */
class AmbiguousResponse extends Error {
  override name = 'AmbiguousAnswer';
  readonly code = 'AMBIGUOUS_ANSWER';
}

/**
 * The headers, each once that may not be there more often.
 *
 * @throws AmbiguousAnswer where two of them say different things
 */
export function deduplicateHeaders(headers: Headers): Headers {
  let single: Record<string, string | string[] | undefined> | null = null;
  for (const name in headers) {
    const value = headers[name];
    // Most answers have none of these twice, and nothing is made for them.
    if (!Array.isArray(value) || !(decisive.has(name) || informative.has(name))) continue;
    if (decisive.has(name) && !isSame(name, value)) {
      throw new AmbiguousResponse(`the answer has several headers ${name}`);
    }
    single ??= { ...headers };
    single[name] = value[0];
  }
  return single ?? headers;
}

/** Two codings of one name are one within the other. */
function isSame(name: string, values: readonly string[]): boolean {
  return name !== 'content-encoding' && values.every((value) => value === values[0]);
}
