/** Groups and validates the settings of commit statuses and notifications. */
import type { Secret } from '../../secret.ts';
import type { gitHostForms, noticeForms } from '../variables/forms.ts';
import type { SettingName, SettingValues } from '../variables/variables.ts';

interface CommitStatusSettings {
  readonly token: Secret;
  /** Undefined: derived from the host name. */
  readonly form: (typeof gitHostForms)[number] | undefined;
  readonly apiUrl: string | undefined;
  readonly link: string | undefined;
}

interface NotificationSettings {
  /** Secret because it may contain a token. */
  readonly url: Secret;
  readonly form: (typeof noticeForms)[number];
  readonly signingSecret: Secret | undefined;
}

type SecretOf = (
  name: 'GATEWRIGHT_COMMIT_STATUS_TOKEN' | 'GATEWRIGHT_NOTIFY_URL' | 'GATEWRIGHT_NOTIFY_SECRET',
) => Secret | undefined;

/** Undefined when no commit status is written. */
export function commitStatusSettings(
  values: SettingValues,
  secretOf: SecretOf,
): CommitStatusSettings | undefined {
  const token = secretOf('GATEWRIGHT_COMMIT_STATUS_TOKEN');
  if (token === undefined) return undefined;
  return {
    token,
    form: values.GATEWRIGHT_COMMIT_STATUS_FORM,
    apiUrl: values.GATEWRIGHT_COMMIT_STATUS_API_URL,
    link: values.GATEWRIGHT_COMMIT_STATUS_LINK,
  };
}

/** Undefined when notifications are off. */
export function notificationSettings(
  values: SettingValues,
  secretOf: SecretOf,
): NotificationSettings | undefined {
  const url = secretOf('GATEWRIGHT_NOTIFY_URL');
  if (url === undefined) return undefined;
  return {
    url,
    form: values.GATEWRIGHT_NOTIFY_FORM,
    signingSecret: secretOf('GATEWRIGHT_NOTIFY_SECRET'),
  };
}

/** The setting that each setting requires. */
const needs: Partial<Record<SettingName, SettingName>> = {
  GATEWRIGHT_COMMIT_STATUS_FORM: 'GATEWRIGHT_COMMIT_STATUS_TOKEN',
  GATEWRIGHT_COMMIT_STATUS_API_URL: 'GATEWRIGHT_COMMIT_STATUS_TOKEN',
  GATEWRIGHT_COMMIT_STATUS_LINK: 'GATEWRIGHT_COMMIT_STATUS_TOKEN',
  GATEWRIGHT_NOTIFY_FORM: 'GATEWRIGHT_NOTIFY_URL',
  GATEWRIGHT_NOTIFY_SECRET: 'GATEWRIGHT_NOTIFY_URL',
};

/** @param isGiven whether a setting is set, even if invalid */
export function notifyFaults(
  values: SettingValues,
  isGiven: (name: SettingName) => boolean,
): string[] {
  const alone = (Object.entries(needs) as [SettingName, SettingName][])
    .filter(([name, needed]) => isGiven(name) && !isGiven(needed))
    .map(
      ([name, needed]) => `${name} is set, but has no effect without ${needed}: set both or none`,
    );
  const isUnsigned = values.GATEWRIGHT_NOTIFY_FORM === 'slack';
  if (!isUnsigned || !isGiven('GATEWRIGHT_NOTIFY_SECRET')) return alone;
  const fault =
    'GATEWRIGHT_NOTIFY_SECRET is set, but GATEWRIGHT_NOTIFY_FORM=slack signs nothing: unset one of them';
  return [...alone, fault];
}
