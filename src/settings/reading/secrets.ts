/** Wraps the value of a setting as a secret with its origin. */
import { Secret } from '../../secret.ts';
import type { SettingName, SettingValues } from '../variables/variables.ts';
import type { SettingText } from './sources.ts';

/** Returns a function from setting names to secrets; undefined for unset settings. */
export function secretIn(values: SettingValues, given: ReadonlyMap<SettingName, SettingText>) {
  return <N extends SettingName>(name: N): Secret<NonNullable<SettingValues[N]>> | undefined => {
    const value = values[name];
    return value == null ? undefined : new Secret(value, given.get(name)?.origin ?? '');
  };
}
