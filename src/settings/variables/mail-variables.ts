/** Knows the environment variables of outgoing mail. */
import * as forms from './forms.ts';
import { defaulted, optional } from './variable.ts';

export const mailVariables = {
  SMTP_MAIL: optional(
    'Mail',
    forms.toggle,
    'OFF: no mail is sent; when unset ON where SMTP_HOST is set.',
  ),
  SMTP_HOST: optional(
    'Mail',
    { ...forms.host, example: 'smtp.example.com' },
    'Server that takes alerts about budgets; without it nobody is told.',
  ),
  SMTP_PORT: optional(
    'Mail',
    { ...forms.port, example: '587' },
    'Its port; when unset 587, 465 for implicit TLS, 25 for none.',
  ),
  GATEWRIGHT_SMTP_TLS: defaulted(
    'Mail',
    forms.oneOf(['starttls', 'implicit', 'none'], 'implicit'),
    'starttls',
    'starttls: nothing is sent before the connection is encrypted; implicit: it is from its first byte; none: never.',
  ),
  SMTP_USER: optional(
    'Mail',
    forms.line('a user name', 'gatewright', 255),
    'User at the server; none when unset.',
  ),
  SMTP_PASSWORD: optional(
    'Mail',
    forms.line('a password on one line, or a path to a file', '/run/secrets/smtp-password'),
    'Password that goes with SMTP_USER.',
    { secret: true },
  ),
  SMTP_FROM: optional('Mail', forms.mailSender, 'Who the mails come from.'),
  GATEWRIGHT_ALERT_EMAILS: optional(
    'Mail',
    forms.mailAddresses,
    'Who is told of all alerts, beside the alert_emails of a key.',
  ),
};
