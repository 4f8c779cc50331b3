/** Treats fields that other tools own as equal to the live value, whatever the manifest says. */
import type { KindName } from '../../model/kinds/kinds.ts';
import type {
  DesiredResource,
  Identity,
  LiveResource,
  Spec,
  SpecJson,
} from '../resources/resource-set.ts';
import { isPlainObject, isSecret, putAt, referencesIn, valueAt } from '../resources/spec-paths.ts';

/** An ignored field of an existing resource. */
export interface IgnoredField {
  readonly identity: Identity;
  /** Path in the canonical spec. */
  readonly path: readonly string[];
  /** Whether the live value differs from the manifest. */
  readonly differs: boolean;
}

/** Both sides of a comparison without differences in ignored fields. */
export interface ComparisonSides {
  readonly desired: DesiredResource;
  /** The spec applied last. */
  readonly base: Spec | null;
  readonly ignored: readonly IgnoredField[];
}

/**
 * Gives each ignored field its live value. Where the surrounding field is written as a whole, that
 * value is written with it, so that nothing of the other tool is lost.
 */
export function withIgnoredFields(desired: DesiredResource, live: LiveResource): ComparisonSides {
  const { ignoreFields = [], identity } = desired;
  if (ignoreFields.length === 0) return { desired, base: live.base, ignored: [] };
  const spec = structuredClone(desired.spec);
  const base = live.base === null ? null : structuredClone(live.base);
  const liveValues: Spec = {};
  const ignored = ignoreFields.map((path, at): IgnoredField => {
    const there = valueAt(live.spec, path) as SpecJson | undefined;
    const wanted = valueAt(spec, path);
    if (there !== undefined) liveValues[`${at}`] = there;
    take(spec, path, there);
    if (base !== null) take(base, path, there);
    return { identity, path, differs: textOf(wanted) !== textOf(there) };
  });
  const references = [...desired.references, ...referencesIn(liveValues).map(identityOf)];
  return { desired: { ...desired, spec, references }, base, ignored };
}

/** Secrets with equal values have equal texts, whatever their origins. */
function textOf(value: unknown): string | undefined {
  return JSON.stringify(value, (_, inner: SpecJson) =>
    isSecret(inner) ? { ...inner, $secret: '' } : inner,
  );
}

function take(spec: Spec, path: readonly string[], value: SpecJson | undefined): void {
  let holder: Spec = spec;
  for (const key of path.slice(0, -1)) {
    const below = holder[key];
    if (!isPlainObject(below)) {
      if (value === undefined) return;
      holder[key] = {};
    }
    holder = holder[key] as Spec;
  }
  if (value === undefined) delete holder[path.at(-1)!];
  else putAt(spec, path, structuredClone(value));
}

/** Parses an identity key. */
function identityOf(key: string): Identity {
  const [kind, ...rest] = key.split('/');
  const [name = '', workspace = null] = rest.toReversed();
  return { kind: kind as KindName, workspace, name };
}
