/** Groups and validates the settings of outgoing mail. */
import type { Secret } from '../../secret.ts';
import type { SettingName, SettingValues } from '../variables/variables.ts';

export interface MailSettings {
  readonly host: string;
  readonly port: number;
  /** `starttls` is mandatory, not opportunistic. */
  readonly tls: 'starttls' | 'implicit' | 'none';
  /** Null for a server without login. */
  readonly user: string | null;
  readonly password: Secret | undefined;
  readonly from: string;
}

export interface AlertSettings {
  /** Null when mail is off. */
  readonly mail: MailSettings | null;
  /** Recipients of all alerts. */
  readonly recipients: readonly string[];
}

/** Default ports. */
const ports = { starttls: 587, implicit: 465, none: 25 } as const;

export function alertSettings(
  values: SettingValues,
  secretOf: (name: 'SMTP_PASSWORD') => Secret | undefined,
): AlertSettings {
  return {
    mail: mailSettings(values, secretOf('SMTP_PASSWORD')),
    recipients: values.GATEWRIGHT_ALERT_EMAILS ?? [],
  };
}

function mailSettings(values: SettingValues, password: Secret | undefined): MailSettings | null {
  const { SMTP_HOST: host, SMTP_FROM: from, GATEWRIGHT_SMTP_TLS: tls } = values;
  if (values.SMTP_MAIL === false || host === undefined || from === undefined) return null;
  const port = values.SMTP_PORT ?? ports[tls];
  return { host, port, tls, from, user: values.SMTP_USER ?? null, password };
}

/** Settings that each setting requires. */
const needs: Partial<Record<SettingName, readonly SettingName[]>> = {
  SMTP_HOST: ['SMTP_FROM'],
  SMTP_FROM: ['SMTP_HOST'],
  SMTP_PORT: ['SMTP_HOST'],
  SMTP_USER: ['SMTP_HOST', 'SMTP_PASSWORD'],
  SMTP_PASSWORD: ['SMTP_USER'],
  GATEWRIGHT_SMTP_TLS: ['SMTP_HOST'],
  GATEWRIGHT_ALERT_EMAILS: ['SMTP_HOST'],
};

/** @param isGiven whether a setting is set, even if invalid */
export function mailFaults(
  values: SettingValues,
  isGiven: (name: SettingName) => boolean,
): string[] {
  const pairs = (Object.entries(needs) as [SettingName, readonly SettingName[]][]).filter(
    ([name]) => isGiven(name),
  );
  if (values.SMTP_MAIL === true) pairs.unshift(['SMTP_MAIL', ['SMTP_HOST']]);
  const faults = pairs.flatMap(([name, needed]) => {
    const missing = needed.filter((one) => !isGiven(one));
    return missing.map(
      (one) => `${name} is set, but has no effect without ${one}: set both or none`,
    );
  });
  const isOpen = values.GATEWRIGHT_SMTP_TLS === 'none' && isGiven('SMTP_PASSWORD');
  if (!isOpen) return faults;
  return [
    ...faults,
    'GATEWRIGHT_SMTP_TLS=none would send SMTP_PASSWORD for all to read: use starttls or implicit',
  ];
}
