/** Reads from the path of a request which objects of callers it concerns: the kind, and the id. */
import type { IncomingMessage } from 'node:http';
import {
  allEndpoints,
  endpointAt,
  isPlaceholder,
  wordsOf,
} from '../../model/endpoints/catalogue.ts';
import type { ObjectKind } from '../../model/endpoints/object-kind.ts';
import type { Capability } from '../../model/services/capabilities.ts';

export interface OwnedPath {
  readonly kind: ObjectKind;
  /** Capability of an integration that says who stores the kind; null when it is always the provider. */
  readonly capability: Capability | null;
  /** Services that store the kind whatever the capability says. */
  readonly servicesWithOwn: readonly string[];
  /** Null for a path that creates or lists objects. */
  readonly id: string | null;
  /** Segments after the id. */
  readonly rest: readonly string[];
  /** Whether a POST creates another object of the kind. */
  readonly isMaker: boolean;
  /** Members that name objects in requests to this endpoint, in lower case. */
  readonly references: readonly string[];
}

/** `path` is canonical. Null for an endpoint without objects of callers, and for one that is not in the catalogue. */
export function ownedPathOf(method: string | undefined, path: string): OwnedPath | null {
  const endpoint = endpointAt(method, path);
  if (endpoint === null || endpoint.owned === null) return null;
  const { kind, capability, servicesWithOwn = [], base, makers } = endpoint.owned;
  const at = wordsOf(base).length;
  const words = wordsOf(endpoint.path);
  const segments = wordsOf(path).map(decodeURIComponent);
  const hasId = isPlaceholder(words[at] ?? '');
  const id = hasId ? segments[at]! : null;
  const rest = segments.slice(hasId ? at + 1 : at);
  const isMaker = rest.length === 0 ? !hasId : makers.includes(rest.join('/'));
  const { references } = endpoint;
  return { kind, capability, servicesWithOwn, id, rest, isMaker, references };
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

const listPaths = new Map(
  allEndpoints
    .flatMap(({ owned }) => (owned === null ? [] : [[owned.kind, owned.base] as const]))
    .toReversed(),
);

/** Returns the path that lists the objects of a kind. */
export function listPathOf(kind: ObjectKind): string {
  return listPaths.get(kind)!;
}
