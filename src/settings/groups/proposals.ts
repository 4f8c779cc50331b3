/** Groups and validates the settings of changes that are proposed at a Git host. */
import type { Secret } from '../../secret.ts';
import type { gitHostForms } from '../variables/forms.ts';
import type { SettingName, SettingValues } from '../variables/variables.ts';

export interface ProposalSettings {
  readonly repository: string;
  readonly token: Secret;
  /** Undefined: derived from the host name. */
  readonly form: (typeof gitHostForms)[number] | undefined;
  readonly apiUrl: string | undefined;
}

/** Undefined when changes are offered as patches only. */
export function proposalSettings(
  values: SettingValues,
  secretOf: (name: 'GATEWRIGHT_PROPOSALS_TOKEN') => Secret | undefined,
): ProposalSettings | undefined {
  const repository = values.GATEWRIGHT_PROPOSALS_REPOSITORY;
  const token = secretOf('GATEWRIGHT_PROPOSALS_TOKEN');
  if (repository === undefined || token === undefined) return undefined;
  return {
    repository,
    token,
    form: values.GATEWRIGHT_PROPOSALS_FORM,
    apiUrl: values.GATEWRIGHT_PROPOSALS_API_URL,
  };
}

const required = ['GATEWRIGHT_PROPOSALS_REPOSITORY', 'GATEWRIGHT_PROPOSALS_TOKEN'] as const;
const all = [...required, 'GATEWRIGHT_PROPOSALS_FORM', 'GATEWRIGHT_PROPOSALS_API_URL'] as const;

/** @param isGiven whether a setting is set, even if invalid */
export function proposalFaults(
  _values: SettingValues,
  isGiven: (name: SettingName) => boolean,
): string[] {
  const set = all.find(isGiven);
  if (set === undefined) return [];
  return required
    .filter((name) => !isGiven(name))
    .map((name) => `${set} is set, but has no effect without ${name}: set both or none`);
}
