/** Rebuilds the target of a request in the one form that is checked and sent, or states why there is none. */
import { endpointAt, isPlaceholder, templateOf } from './catalogue.ts';

export interface CanonicalTarget {
  /** Path below `/v1`, without the query. */
  readonly path: string;
  /** Includes the question mark; '' for none. */
  readonly query: string;
}

/** The target, or the reason why two servers could read it differently. */
type TargetOrFault = CanonicalTarget | { readonly fault: string };

/** Characters that a server may take for the end of a segment, decode again, or ignore. */
const ambiguousCharacter = /[;%?#\\\p{C}\p{Z}]/u;

/** `path` is below `/v1`. */
export function canonicalTarget(
  method: string | undefined,
  path: string,
  query: string,
): TargetOrFault {
  const rebuiltQuery = query === '' ? '' : canonicalQuery(query);
  if (endpointAt(method, path) !== null && plainPath.test(path)) {
    return { path, query: rebuiltQuery };
  }
  const segments = decodedSegments(path);
  if (segments === null) return { fault: 'The encoding of the path is not valid' };
  const fault = segments.map(segmentFault).find((one) => one !== null);
  if (typeof fault === 'string') return { fault };
  if (segments.length === 0) return { path: '/', query: rebuiltQuery };
  const { words = [] } = templateOf(method, segments) ?? {};
  const rebuilt = segments.map((segment, at) => {
    const word = words[at];
    return word === undefined || isPlaceholder(word) ? encodedSegment(segment) : word;
  });
  return { path: `/${rebuilt.join('/')}`, query: rebuiltQuery };
}

/** Lower-case paths without special characters are canonical if the catalogue has them. */
const plainPath = /^(?:\/[a-z\d_-]+)+$/;

/** Null for an invalid encoding. */
export function decodedSegments(path: string): string[] | null {
  try {
    return path.replace(/\/$/, '').split('/').slice(1).map(decodeURIComponent);
  } catch {
    return null;
  }
}

/** Null for a segment that every server reads in the same way. */
export function segmentFault(segment: string): string | null {
  if (segment === '') return 'The path has an empty segment';
  if (ambiguousCharacter.test(segment)) {
    return 'A path segment contains a semicolon, a percent sign, a blank or a control character';
  }
  if (segment.endsWith('.')) return 'A path segment ends with a dot';
  return null;
}

/** Leaves characters unencoded that have no meaning in a path, so that ids and models look as usual. */
function encodedSegment(segment: string): string {
  return encodeURIComponent(segment).replace(/%(?:40|3A|2C|24|2B|3D)/g, decodeURIComponent);
}

export function canonicalQuery(query: string): string {
  if (/^\?[\w.=&-]*$/.test(query)) return query;
  // A blank as `+` is read as a plus sign by some servers.
  const rebuilt = new URLSearchParams(query).toString().replaceAll('+', '%20');
  return rebuilt === '' ? '' : `?${rebuilt}`;
}
