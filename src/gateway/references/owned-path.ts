/** Knows which paths are about objects that callers keep: of which kind, and which one. */
import type { IncomingMessage } from 'node:http';
import type { Capability } from '../../model/services/capabilities.ts';
import type { ObjectKind } from '../../objects/object-request.ts';
import { accountSegment, kindAtSegment } from './owned-kinds.ts';

export interface OwnedPath {
  readonly kind: ObjectKind;
  /** What of an integration says who keeps them; null where that is always the provider. */
  readonly capability: Capability | null;
  /** Null for a path that names none: to make one, or to list them. */
  readonly id: string | null;
  /** What follows. */
  readonly rest: readonly string[];
  /** Whether what is posted there makes another one of its kind. */
  readonly isMaker: boolean;
  /** As it is asked for, however it was written. */
  readonly path: string;
}

/** What most requests are about, so that one look is all they pay. */
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
 * `path` is behind `/v1`. A provider may stand behind another path, and may heed neither the case of
 * letters nor how they are written: whatever it could take for such an object is taken for one.
 */
export function ownedPathOf(method: string | undefined, path: string): OwnedPath | null {
  if (isPlain(method, path)) return null;
  const segments = segmentsOf(path);
  const small = segments.map((segment) => segment.toLowerCase());
  const end = accountSegment(small);
  for (const at of segments.keys()) {
    if (at === end) return null;
    const found = kindAtSegment(small, at);
    if (found === null) continue;
    const { kind, capability, words, makers, has } = found;
    const behind = at + found.path.length;
    const named = segments[behind];
    const isWord = named !== undefined && words.includes(small[behind]!);
    const id = named === undefined || isWord ? null : named;
    if (!has(method, id !== null)) return null;
    const rest = isWord
      ? [small[behind]!, ...segments.slice(behind + 1)]
      : segments.slice(behind + 1);
    const isMaker = rest.length === 0 ? id === null : makers.includes(rest.join('/').toLowerCase());
    const before = [...segments.slice(0, at), ...found.path];
    const written = [...before, ...(id === null ? [] : [id]), ...rest];
    const whole = `/${written.map(encodeURIComponent).join('/')}`;
    return { kind, capability, id, rest, isMaker, path: whole };
  }
  return null;
}

/** Whether what is no {@link OwnedPath} is about the account at the provider as a whole. */
export function isAccountPath(method: string | undefined, path: string): boolean {
  if (isPlain(method, path)) return false;
  return accountSegment(segmentsOf(path).map((segment) => segment.toLowerCase())) >= 0;
}

/** Whether the body is a form with a file, which may be larger than bodies are. */
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

/** That it can be, the listener has made sure. */
function decoded(segment: string): string {
  return segment.includes('%') ? decodeURIComponent(segment) : segment;
}
