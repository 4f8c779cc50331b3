/** Recognises the paths of objects that callers own: the kind, and the id. */
import type { IncomingMessage } from 'node:http';
import type { Capability } from '../../model/services/capabilities.ts';
import type { ObjectKind } from '../../objects/object-request.ts';
import { accountSegment, kindAtSegment } from './owned-kinds.ts';

export interface OwnedPath {
  readonly kind: ObjectKind;
  /** Capability of an integration that says who stores the kind; null when it is always the provider. */
  readonly capability: Capability | null;
  /** Null for a path that creates or lists objects. */
  readonly id: string | null;
  /** Segments after the id. */
  readonly rest: readonly string[];
  /** Whether a POST creates another object of the kind. */
  readonly isMaker: boolean;
  /** The normalised path. */
  readonly path: string;
}

/** The paths of most requests, which are recognised with one look-up. */
const plain = new Set([
  '/chat/completions',
  '/completions',
  '/embeddings',
  '/messages',
  '/messages/count_tokens',
  '/moderations',
  '/images/generations',
  '/audio/speech',
]);

export function isPlain(method: string | undefined, path: string): boolean {
  return method === 'POST' ? plain.has(path) : path === '/models';
}

/**
 * `path` is below `/v1`. A provider may have a path prefix and may ignore case and percent-encoding, so every path
 * that it could read as such an object is recognised.
 */
export function ownedPathOf(method: string | undefined, path: string): OwnedPath | null {
  if (isPlain(method, path)) return null;
  const segments = segmentsOf(path);
  const lowerCase = segments.map((segment) => segment.toLowerCase());
  const end = accountSegment(lowerCase);
  for (const at of segments.keys()) {
    if (at === end) return null;
    const match = kindAtSegment(lowerCase, at);
    if (match === null) continue;
    const { kind, capability, words, makers, has } = match;
    const behind = at + match.path.length;
    const named = segments[behind];
    const isWord = named !== undefined && words.includes(lowerCase[behind]!);
    const id = named === undefined || isWord ? null : named;
    if (!has(method, id !== null)) return null;
    const rest = isWord
      ? [lowerCase[behind]!, ...segments.slice(behind + 1)]
      : segments.slice(behind + 1);
    const isMaker = rest.length === 0 ? id === null : makers.includes(rest.join('/').toLowerCase());
    const before = [...segments.slice(0, at), ...match.path];
    const written = [...before, ...(id === null ? [] : [id]), ...rest];
    const whole = `/${written.map(encodeURIComponent).join('/')}`;
    return { kind, capability, id, rest, isMaker, path: whole };
  }
  return null;
}

/** Whether a path without owned objects concerns the account at the provider as a whole. */
export function isAccountPath(method: string | undefined, path: string): boolean {
  if (isPlain(method, path)) return false;
  return accountSegment(segmentsOf(path).map((segment) => segment.toLowerCase())) >= 0;
}

/** Whether the body is a form with a file, which may exceed the bound of bodies. */
export function sendsFile(
  { kind, id, rest }: OwnedPath,
  { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
): boolean {
  const isFile = kind === 'files' && id === null && rest.length === 0;
  const isPart = kind === 'uploads' && id !== null && rest.join('/') === 'parts';
  if (method !== 'POST' || !(isFile || isPart)) return false;
  return /^multipart\/form-data/i.test(headers['content-type'] ?? '');
}

function segmentsOf(path: string): string[] {
  return path
    .split('/')
    .filter((segment) => segment !== '')
    .map(decoded);
}

/** Cannot throw, because the listener has validated the encoding. */
function decoded(segment: string): string {
  return segment.includes('%') ? decodeURIComponent(segment) : segment;
}
