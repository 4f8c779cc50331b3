/** Knows which paths are about objects that callers keep: of which kind, and which one. */
import type { IncomingMessage } from 'node:http';
import type { Capability } from '../model/capabilities.ts';
import type { ObjectKind } from '../objects/object-request.ts';

export interface OwnedPath {
  readonly kind: ObjectKind;
  /** What of an integration says who keeps them; null where that is always the provider. */
  readonly capability: Capability | null;
  /** Null for a path that names none: to make one, or to list them. */
  readonly id: string | null;
  /** What follows. */
  readonly rest: readonly string[];
  /** As it is asked for, however it was written. */
  readonly path: string;
}

interface KindOfPath {
  readonly capability: Capability | null;
  /** Words that stand where ids do and are none. */
  readonly words: readonly string[];
}

const kinds: Readonly<Record<Exclude<ObjectKind, 'items'>, KindOfPath>> = {
  responses: { capability: 'responses', words: ['input_tokens', 'compact'] },
  conversations: { capability: null, words: [] },
  // Files within one are none that lie beside it.
  containers: { capability: null, words: [] },
  vector_stores: { capability: 'vector_stores', words: [] },
  files: { capability: 'files', words: [] },
  uploads: { capability: null, words: [] },
  batches: { capability: null, words: [] },
  assistants: { capability: 'assistants', words: [] },
  threads: { capability: 'assistants', words: ['runs'] },
};

/** What most requests are about, so that one look is all they pay. */
const plain = new Set([
  ...['/chat/completions', '/completions', '/embeddings', '/messages', '/models'],
  ...['/messages/count_tokens', '/moderations', '/images/generations', '/audio/speech'],
]);

/**
 * `path` is behind `/v1`. A provider may stand behind another path, and may heed neither the case of
 * letters nor how they are written: whatever it could take for such an object is taken for one.
 */
export function ownedPathOf(path: string): OwnedPath | null {
  if (plain.has(path)) return null;
  const segments = path
    .split('/')
    .filter((segment) => segment !== '')
    .map(decoded);
  const at = segments.findIndex((segment) => Object.hasOwn(kinds, segment.toLowerCase()));
  if (at < 0) return null;
  const kind = segments[at]!.toLowerCase() as keyof typeof kinds;
  const { capability, words } = kinds[kind];
  const [named, ...behind] = segments.slice(at + 1);
  const isWord = named !== undefined && words.includes(named.toLowerCase());
  const id = named === undefined || isWord ? null : named;
  const rest = isWord ? [named.toLowerCase(), ...behind] : behind;
  const written = [...segments.slice(0, at), kind, ...(id === null ? [] : [id]), ...rest];
  return { kind, capability, id, rest, path: `/${written.map(encodeURIComponent).join('/')}` };
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

/** That it can be, the listener has made sure. */
function decoded(segment: string): string {
  return segment.includes('%') ? decodeURIComponent(segment) : segment;
}
