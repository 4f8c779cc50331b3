/** Declares the environment variables of outgoing mail. */
import * as forms from './forms.ts';
import { defaulted, optional } from './variable.ts';

export const mailVariables = {
  SMTP_MAIL: optional(
    'Mail',
    forms.toggle,
    'OFF: no mail is sent. When unset: ON if SMTP_HOST is set.',
  ),
  SMTP_HOST: optional(
    'Mail',
    { ...forms.host, example: 'smtp.example.com' },
    'SMTP server for budget alerts; without it no alerts are sent.',
  ),
  SMTP_PORT: optional(
    'Mail',
    { ...forms.portNumber, example: '587' },
    'Port of the SMTP server. When unset: 587, with implicit TLS 465, without TLS 25.',
  ),
  GATEWRIGHT_SMTP_TLS: defaulted(
    'Mail',
    forms.oneOf(['starttls', 'implicit', 'none'], 'implicit'),
    'starttls',
    'starttls: upgrade to TLS before sending anything; implicit: TLS from the first byte; none: no encryption.',
  ),
  SMTP_USER: optional(
    'Mail',
    forms.line('a user name', 'gatewright', 255),
    'User at the SMTP server. When unset: no login.',
  ),
  SMTP_PASSWORD: optional(
    'Mail',
    forms.line('a password on one line, or a path to a file', '/run/secrets/smtp-password'),
    'Password of SMTP_USER.',
    { secret: true },
  ),
  SMTP_FROM: optional('Mail', forms.mailSender, 'Sender of the mails.'),
  GATEWRIGHT_ALERT_EMAILS: optional(
    'Mail',
    forms.mailAddresses,
    'Recipients of all alerts, in addition to those of each budget.',
  ),
};
