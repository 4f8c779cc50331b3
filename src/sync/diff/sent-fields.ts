/** Determines which fields a write sends as a whole, and which unnamed live values it replaces. */
import type { Kind } from '../../model/kinds/kinds.ts';
import type { DesiredResource, Spec, SpecJson } from '../resources/resource-set.ts';
import { pointerOf, segmentsOf } from '../resources/spec-paths.ts';
import { isDefault } from './consequences.ts';
import { below, type ComparedPath, type Difference, removal, topLevelField } from './diff.ts';
import { isBranch, isEmpty, isOpaque, unionOfKeys } from './equality.ts';

/**
 * Returns the top-level fields of an update: each with a difference, and those that the API
 * requires with it. A PUT that also creates replaces everything, so it sends every field.
 */
export function fieldsToSend(
  kind: Kind,
  { spec, secrets }: Pick<DesiredResource, 'spec' | 'secrets'>,
  differences: readonly Difference[],
): string[] {
  const changed = kind.isNamedByPathFields ? Object.keys(spec) : differences.map(topLevelField);
  const holders = [...secrets.keys()].map((pointer) => segmentsOf(pointer)[0]!);
  const withSecrets = changed.some((field) => kind.secretsGoWith.includes(field));
  return [...new Set([...changed, ...(withSecrets ? holders : [])])].filter(
    (field) => !kind.pathFields.includes(field) && !kind.immutable.includes(field),
  );
}

/**
 * Returns live values that a write removes although neither manifest nor record names them: keys
 * beside those sent, because the API replaces whole fields, and for a replacement everything
 * (`isAll`).
 */
export function replacedValues(
  kind: Kind,
  desired: DesiredResource,
  live: Spec,
  differences: readonly Difference[],
  isAll: boolean,
): Difference[] {
  const reported = new Set(differences.map(({ livePath }) => livePath));
  const taken: Difference[] = [];
  const takeRest = (place: ComparedPath, present: SpecJson): void => {
    const pointer = pointerOf(place.live);
    if (isEmpty(present) || reported.has(pointer)) return;
    const isPartlyReported = [...reported].some((path) => path.startsWith(`${pointer}/`));
    if (!isPartlyReported || !isBranch(present)) {
      taken.push(removal(place, present, 'default-reset'));
      return;
    }
    for (const key of unionOfKeys(present)) takeRest(below(place, key), present[key]!);
  };
  const walk = (place: ComparedPath, wanted: SpecJson, present: SpecJson): void => {
    if (!isBranch(wanted) || !isBranch(present) || isOpaque(kind, place.wanted)) return;
    if (reported.has(pointerOf(place.live))) return;
    for (const key of unionOfKeys(present)) {
      const inner = below(place, key);
      if (wanted[key] !== undefined) walk(inner, wanted[key], present[key]!);
      else takeRest(inner, present[key]!);
    }
  };
  const fields = isAll ? Object.keys(desired.spec) : fieldsToSend(kind, desired, differences);
  for (const field of fields) {
    const isMerged = kind.merged.includes(field) && !isAll;
    if (isMerged || desired.spec[field] === undefined || live[field] === undefined) continue;
    const path = [field];
    walk({ wanted: path, live: path }, desired.spec[field], live[field]);
  }
  if (!isAll && !kind.isNamedByPathFields) return taken;
  const { pathFields } = kind;
  const others = Object.keys(live).filter((field) => desired.spec[field] === undefined);
  for (const field of others.toSorted()) {
    const path = [field];
    const isRetained =
      pathFields.includes(field) || isDefault(desired.identity.kind, path, live[field]!);
    if (!isRetained) takeRest({ wanted: path, live: path }, live[field]!);
  }
  return taken;
}
