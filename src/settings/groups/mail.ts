/** Knows the settings of outgoing mail as a group, and which of them make a whole. */
import type { Secret } from '../../secret.ts';
import type { Name, Values } from '../variables/variables.ts';

export interface MailSettings {
  readonly host: string;
  readonly port: number;
  /** `starttls` is required, never only tried. */
  readonly tls: 'starttls' | 'implicit' | 'none';
  /** Null for a server that asks nobody. */
  readonly user: string | null;
  readonly password: Secret | undefined;
  readonly from: string;
}

export interface AlertSettings {
  /** Null where no mail is sent. */
  readonly mail: MailSettings | null;
  /** Who is told of all alerts. */
  readonly recipients: readonly string[];
}

/** The usual port of each way. */
const ports = { starttls: 587, implicit: 465, none: 25 } as const;

export function alertSettings(
  values: Values,
  secretOf: (name: 'SMTP_PASSWORD') => Secret | undefined,
): AlertSettings {
  return {
    mail: mailSettings(values, secretOf('SMTP_PASSWORD')),
    recipients: values.GATEWRIGHT_ALERT_EMAILS ?? [],
  };
}

function mailSettings(values: Values, password: Secret | undefined): MailSettings | null {
  const { SMTP_HOST: host, SMTP_FROM: from, GATEWRIGHT_SMTP_TLS: tls } = values;
  if (values.SMTP_MAIL === false || host === undefined || from === undefined) return null;
  const port = values.SMTP_PORT ?? ports[tls];
  return { host, port, tls, from, user: values.SMTP_USER ?? null, password };
}

/** What each setting is nothing without. */
const needs: Partial<Record<Name, readonly Name[]>> = {
  SMTP_HOST: ['SMTP_FROM'],
  SMTP_FROM: ['SMTP_HOST'],
  SMTP_PORT: ['SMTP_HOST'],
  SMTP_USER: ['SMTP_HOST', 'SMTP_PASSWORD'],
  SMTP_PASSWORD: ['SMTP_USER'],
  GATEWRIGHT_SMTP_TLS: ['SMTP_HOST'],
  GATEWRIGHT_ALERT_EMAILS: ['SMTP_HOST'],
};

/** @param isGiven whether a setting is set, be it wrongly */
export function mailFaults(values: Values, isGiven: (name: Name) => boolean): string[] {
  const pairs = (Object.entries(needs) as [Name, readonly Name[]][]).filter(([name]) =>
    isGiven(name),
  );
  if (values.SMTP_MAIL === true) pairs.unshift(['SMTP_MAIL', ['SMTP_HOST']]);
  const faults = pairs.flatMap(([name, needed]) => {
    const missing = needed.filter((one) => !isGiven(one));
    return missing.map(
      (one) => `${name} is set, but does nothing without ${one}: set both or none`,
    );
  });
  const isOpen = values.GATEWRIGHT_SMTP_TLS === 'none' && isGiven('SMTP_PASSWORD');
  if (!isOpen) return faults;
  return [
    ...faults,
    'GATEWRIGHT_SMTP_TLS=none would send SMTP_PASSWORD for all to read: use starttls or implicit',
  ];
}
