/** Distinguishes manifests, faulty manifests, and documents of other programs. */
import { isObject } from '../../model/json/read-object.ts';
import { kindNames } from '../../model/kinds/kinds.ts';
import { nearest } from '../../suggest.ts';

const group = 'gatewright.dev';
export const apiVersion = `${group}/v1`;

const kindsOfOurs: readonly string[] = [...kindNames, 'External', 'List', 'Defaults'];
/** Maximum edit distance of a mistyped API group; `gateway.dev` is one. */
const groupDistanceMax = 5;

/**
 * Returns whether a document belongs to another program and is left alone. A probable manifest is
 * not: its faults are reported, because leaving it alone would count its resources as removed.
 */
export function isForeignDocument(document: unknown): boolean {
  if (Array.isArray(document))
    return document.every((item) => !isObject(item) || isForeignDocument(item));
  // Plain text may be the rest of a truncated manifest, or one without colons.
  if (!isObject(document)) return false;
  const { apiVersion: version, kind } = document;
  if (typeof version !== 'string') return !isProbableManifest(document);
  if (apiVersion.startsWith(version)) return false;
  const [name = ''] = version.split('/');
  const isOurKind = typeof kind === 'string' && kindsOfOurs.includes(kind);
  if (name.toLowerCase().includes('gatewright')) return false;
  // Core groups of Kubernetes have no name; a kubeconfig has `v1` and `Config`.
  if (!version.includes('/')) {
    return !isOurKind || (!isObject(document.spec) && !isNamed(document));
  }
  return nearest(name, [group], isOurKind ? groupDistanceMax : undefined) === undefined;
}

/** Returns whether a document without any version was meant as a manifest. */
function isProbableManifest(document: Readonly<Record<string, unknown>>): boolean {
  const entries = Object.entries(document);
  if (document.apiVersion === null) return true;
  if (entries.some(([, value]) => typeof value === 'string' && value.startsWith(`${group}/`))) {
    return true;
  }
  const kind = entries.find(([key]) => key === 'kind' || nearest(key, ['kind'], 1))?.[1];
  if (typeof kind === 'string') {
    if (kindsOfOurs.includes(kind)) return true;
    const isNear = nearest(kind, kindsOfOurs) !== undefined;
    if (isNear && (isObject(document.spec) || isNamed(document))) return true;
  }
  return isObject(document.spec) && isNamed(document);
}

function isNamed({ metadata }: Readonly<Record<string, unknown>>): boolean {
  return isObject(metadata) && 'name' in metadata;
}

/**
 * Like {@link isForeignDocument}, for a document of which only the heading is known; when in doubt it is a
 * manifest.
 */
export function isForeignHeading(
  heading: Readonly<Record<string, unknown>>,
  texts: readonly string[],
): boolean {
  return isForeignDocument(heading) && !texts.some((text) => text.includes(group));
}
