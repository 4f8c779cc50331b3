/** Wraps the value of a setting as a secret with its origin. */
import { Secret } from '../../secret.ts';
import type { Name, Values } from '../variables/variables.ts';
import type { Given } from './sources.ts';

/** Returns a function from setting names to secrets; undefined for unset settings. */
export function secretIn(values: Values, given: ReadonlyMap<Name, Given>) {
  return <N extends Name>(name: N): Secret<NonNullable<Values[N]>> | undefined => {
    const value = values[name];
    return value == null ? undefined : new Secret(value, given.get(name)?.origin ?? '');
  };
}
