/** Defines the description of a setting: group, meaning, form, default and secrecy. */
import { z } from 'zod';
import type * as forms from './forms.ts';

type Group =
  | 'Database'
  | 'Features'
  | 'Retention'
  | 'Keys'
  | 'Configs'
  | 'Network'
  | 'Server'
  | 'Inference'
  | 'MCP'
  | 'Link'
  | 'Files'
  | 'Outages'
  | 'Mail'
  | 'Sign-in'
  | 'Sync';

export interface SettingDescription {
  readonly group: Group;
  readonly meaning: string;
  readonly expected: string;
  readonly example: string;
  /** Text used when the variable is unset; null for no default. */
  readonly byDefault: string | null;
  /** Never printed. */
  readonly secret: boolean;
  /** The value may be a path whose file holds it, and `NAME_FILE` may name that file. */
  readonly file: boolean;
  /** False: accepted and checked, but nothing reads it yet. */
  readonly effective: boolean;
}

/** Descriptions by schema. */
export const settingDescriptions = z.registry<SettingDescription>();

export type SettingTraits = Partial<Pick<SettingDescription, 'secret' | 'file' | 'effective'>>;

function describe<T>(group: Group, form: forms.Form<T>, meaning: string, traits: SettingTraits) {
  return {
    group,
    meaning,
    expected: form.expected,
    example: form.example,
    secret: traits.secret ?? false,
    file: traits.file ?? traits.secret ?? false,
    effective: traits.effective ?? true,
  };
}

export function optional<T>(
  group: Group,
  form: forms.Form<T>,
  meaning: string,
  traits: SettingTraits = {},
) {
  const facts = { ...describe(group, form, meaning, traits), byDefault: null };
  return form.schema.optional().register(settingDescriptions, facts);
}

export function defaulted<T>(
  group: Group,
  form: forms.Form<T>,
  byDefault: string,
  meaning: string,
  traits: SettingTraits = {},
) {
  const facts = { ...describe(group, form, meaning, traits), byDefault };
  return form.schema.prefault(byDefault).register(settingDescriptions, facts);
}
