/** Knows secrets that stay as the server has them, because their value is optional and not set here. */
import { type Kind, kinds } from '../../model/kinds/kinds.ts';
import type { DesiredResource, LiveResource } from '../resources/resource-set.ts';
import { isSecret, mapSpec, pointerOf, valueAt } from '../resources/spec-paths.ts';

/** Places of the secrets whose values are not at hand, by JSON pointer, with where they would come from. */
function keptIn({ identity, spec, secrets }: DesiredResource): Map<string, string> {
  const kept = new Map<string, string>();
  if (kinds[identity.kind].secrets.length === 0) return kept;
  mapSpec(spec, (value, segments) => {
    if (!isSecret(value)) return undefined;
    const pointer = pointerOf(segments);
    if (!secrets.has(pointer)) kept.set(pointer, value.$secret);
    return value;
  });
  return kept;
}

/** What is kept counts as what the server has, so that it differs only where there is nothing to keep. */
export function withKeptSecrets(desired: DesiredResource, live: LiveResource): DesiredResource {
  const kept = keptIn(desired);
  if (kept.size === 0) return desired;
  const spec = mapSpec(desired.spec, (value, segments) => {
    if (!isSecret(value) || !kept.has(pointerOf(segments))) return undefined;
    const there = valueAt(live.spec, segments);
    const { fingerprint } = isSecret(there as never) ? (there as typeof value) : value;
    return { $secret: value.$secret, fingerprint };
  });
  return { ...desired, spec };
}

/**
 * Why a change cannot be carried out without the values that are kept, which no server hands back.
 *
 * @param fields top-level ones that are sent; null when all are
 */
export function keptFault(
  desired: DesiredResource,
  fields: readonly string[] | null,
): string | undefined {
  const origins = [...new Set(keptIn(desired).values())];
  const needs = fieldsWithSecrets(kinds[desired.identity.kind]);
  const isSent = fields === null || fields.some((field) => needs.has(field));
  if (origins.length === 0 || !isSent) return undefined;
  const names = origins.map((origin) => origin.replace(':', ' ')).join(', ');
  return `it cannot be written without its optional secrets, which are sent with it: set ${names}`;
}

function fieldsWithSecrets({ secrets, secretsGoWith }: Kind): ReadonlySet<string> {
  return new Set([...secrets.map((path) => path.split('.')[0]!), ...secretsGoWith]);
}
