/** Knows whose a document is: a manifest, one that was meant to be, or another program's. */
import { kindNames } from '../../model/kinds/kinds.ts';
import { nearest } from '../../suggest.ts';

const group = 'gatewright.dev';
export const apiVersion = `${group}/v1`;

const kindsOfOurs: readonly string[] = [...kindNames, 'External', 'List', 'Defaults'];
/** Edits by which a group may differ from ours beside a kind of ours: `gateway.dev` is one. */
const groupDistanceMax = 5;

/**
 * Whether a document is another program's, to be left alone. What may have been meant as a manifest is
 * not: its faults are told, since to leave it alone would count what it declares as removed.
 */
export function isForeign(document: unknown): boolean {
  if (Array.isArray(document)) return document.every((item) => !isMap(item) || isForeign(item));
  // Text alone is what is left of a manifest that was cut off, or one without its colons.
  if (!isMap(document)) return false;
  const { apiVersion: version, kind } = document;
  if (typeof version !== 'string') return !isMeant(document);
  if (apiVersion.startsWith(version)) return false;
  const [name = ''] = version.split('/');
  const isOurKind = typeof kind === 'string' && kindsOfOurs.includes(kind);
  if (name.toLowerCase().includes('gatewright')) return false;
  // The groups of Kubernetes itself have no name; a kubeconfig is `v1` and `Config`.
  if (!version.includes('/')) {
    return !isOurKind || (!isMap(document.spec) && !isNamed(document));
  }
  return nearest(name, [group], isOurKind ? groupDistanceMax : undefined) === undefined;
}

/** Whether what names no version of anything was meant as a manifest. */
function isMeant(document: Readonly<Record<string, unknown>>): boolean {
  const entries = Object.entries(document);
  if (document.apiVersion === null) return true;
  if (entries.some(([, value]) => typeof value === 'string' && value.startsWith(`${group}/`))) {
    return true;
  }
  const kind = entries.find(([key]) => key === 'kind' || nearest(key, ['kind'], 1))?.[1];
  if (typeof kind === 'string') {
    if (kindsOfOurs.includes(kind)) return true;
    const isNear = nearest(kind, kindsOfOurs) !== undefined;
    if (isNear && (isMap(document.spec) || isNamed(document))) return true;
  }
  return isMap(document.spec) && isNamed(document);
}

function isNamed({ metadata }: Readonly<Record<string, unknown>>): boolean {
  return isMap(metadata) && 'name' in metadata;
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** As {@link isForeign}, of a document of which no more is known; in doubt it is ours. */
export function isForeignHeading(
  heading: Readonly<Record<string, unknown>>,
  texts: readonly string[],
): boolean {
  return isForeign(heading) && !texts.some((text) => text.includes(group));
}
