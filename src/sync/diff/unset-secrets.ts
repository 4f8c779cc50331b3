/** Keeps optional secrets whose value is not set here as the server has them. */
import { type Kind, kinds } from '../../model/kinds/kinds.ts';
import type { DesiredResource, LiveResource } from '../resources/resource-set.ts';
import { isLiveSecret, isSecret, mapSpec, pointerOf, valueAt } from '../resources/spec-paths.ts';

/** Returns the JSON pointers of secrets without a value, with the origins of these. */
function unsetSecrets({ identity, spec, secrets }: DesiredResource): Map<string, string> {
  const unset = new Map<string, string>();
  if (kinds[identity.kind].secrets.length === 0) return unset;
  mapSpec(spec, (value, segments) => {
    if (!isSecret(value) || isLiveSecret(value)) return undefined;
    const pointer = pointerOf(segments);
    if (!secrets.has(pointer)) unset.set(pointer, value.$secret);
    return value;
  });
  return unset;
}

/**
 * Treats unset optional secrets as equal to the live ones, so that they differ only if the server
 * has none.
 */
export function withUnsetSecrets(desired: DesiredResource, live: LiveResource): DesiredResource {
  const unset = unsetSecrets(desired);
  if (unset.size === 0) return desired;
  const spec = mapSpec(desired.spec, (value, segments) => {
    if (!isSecret(value) || !unset.has(pointerOf(segments))) return undefined;
    const there = valueAt(live.spec, segments);
    const { fingerprint } = isSecret(there as never) ? (there as typeof value) : value;
    return { $secret: value.$secret, fingerprint };
  });
  return { ...desired, spec };
}

/**
 * Returns why a change cannot be written without the unset secrets, which no server returns.
 *
 * @param fields the top-level fields that are sent; null for all
 */
export function unsetSecretFault(
  desired: DesiredResource,
  fields: readonly string[] | null,
): string | undefined {
  const origins = [...new Set(unsetSecrets(desired).values())];
  const needs = fieldsWithSecrets(kinds[desired.identity.kind]);
  const isSent = fields === null || fields.some((field) => needs.has(field));
  if (origins.length === 0 || !isSent) return undefined;
  const names = origins.map((origin) => origin.replace(':', ' ')).join(', ');
  return `it cannot be written without its optional secrets, which are sent with it: set ${names}`;
}

function fieldsWithSecrets({ secrets, secretsGoWith }: Kind): ReadonlySet<string> {
  return new Set([...secrets.map((path) => path.split('.')[0]!), ...secretsGoWith]);
}
