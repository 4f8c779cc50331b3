/** Knows how the value of a setting becomes a secret that tells where it came from. */
import { Secret } from '../../secret.ts';
import type { Name, Values } from '../variables/variables.ts';
import type { Given } from './sources.ts';

/** Yields what makes a secret of a setting; undefined where that is unset. */
export function secretIn(values: Values, given: ReadonlyMap<Name, Given>) {
  return <N extends Name>(name: N): Secret<NonNullable<Values[N]>> | undefined => {
    const value = values[name];
    return value == null ? undefined : new Secret(value, given.get(name)?.origin ?? '');
  };
}
