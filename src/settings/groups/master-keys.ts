/** Groups and validates the settings of master keys. */
import type { Secret } from '../../secret.ts';
import { secretIn } from '../reading/secrets.ts';
import type { SettingText } from '../reading/sources.ts';
import type { SettingName, SettingValues } from '../variables/variables.ts';

/** The master keys that encrypt the data keys in the database. */
export interface MasterKeySettings {
  /** Encrypts data keys. */
  readonly current: Secret<Buffer>;
  /** Only decrypt data keys, until a rotation is complete. */
  readonly previous: readonly Secret<Buffer>[];
  /**
   * Reads the key files again, so that a rotation needs no restart.
   *
   * @throws Failure when they are not usable
   */
  readonly refresh: () => MasterKeySettings;
}

/** Parsed settings and their texts. */
export interface MasterKeyInput {
  readonly values: SettingValues;
  readonly given: ReadonlyMap<SettingName, SettingText>;
}

const masterKeyNames: readonly SettingName[] = [
  'GATEWRIGHT_MASTER_KEY',
  'GATEWRIGHT_MASTER_KEY_PREVIOUS',
];

/** Null when no master key is set. `readAgain` reads the current settings. */
export function masterKeySettings(
  read: MasterKeyInput,
  readAgain: (names: readonly SettingName[]) => MasterKeyInput,
): MasterKeySettings | null {
  const secretOf = secretIn(read.values, read.given);
  const current = secretOf('GATEWRIGHT_MASTER_KEY');
  if (current === undefined) return null;
  const previous = secretOf('GATEWRIGHT_MASTER_KEY_PREVIOUS');
  const settings: MasterKeySettings = {
    current,
    previous: previous === undefined ? [] : [previous],
    refresh: () => masterKeySettings(readAgain(masterKeyNames), readAgain) ?? settings,
  };
  return settings;
}

/** @param wrong settings with faults that are already reported; unset in `values` */
export function masterKeyFaults(values: SettingValues, wrong: ReadonlySet<SettingName>): string[] {
  if (masterKeyNames.some((name) => wrong.has(name))) return [];
  const { GATEWRIGHT_MASTER_KEY: current, GATEWRIGHT_MASTER_KEY_PREVIOUS: previous } = values;
  if (previous === undefined) return [];
  if (current === undefined) {
    return [
      'GATEWRIGHT_MASTER_KEY_PREVIOUS is set, but GATEWRIGHT_MASTER_KEY is not: where there is one key, ' +
        'set that',
    ];
  }
  if (!current.equals(previous)) return [];
  return [
    'GATEWRIGHT_MASTER_KEY_PREVIOUS is the same key as GATEWRIGHT_MASTER_KEY: leave it out, or set ' +
      'GATEWRIGHT_MASTER_KEY to the new one',
  ];
}
