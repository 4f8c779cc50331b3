/** Declares the environment variables of commit statuses and notifications. */
import * as forms from './forms.ts';
import { defaulted, optional } from './variable.ts';

export const notifyVariables = {
  GATEWRIGHT_COMMIT_STATUS_TOKEN: optional(
    'Sync',
    forms.headerToken,
    'Token with permission to write commit statuses at the Git host; without it none are written.',
    { secret: true },
  ),
  GATEWRIGHT_COMMIT_STATUS_FORM: optional(
    'Sync',
    forms.gitHostForm,
    'API of the Git host. When unset: derived from the host name (github.com, gitlab.example.com, codeberg.org).',
  ),
  GATEWRIGHT_COMMIT_STATUS_API_URL: optional(
    'Sync',
    forms.line('an address', 'https://git.example.com/api/v1', 2048),
    'Base address of that API. When unset: the default path at the host of the source.',
  ),
  GATEWRIGHT_COMMIT_STATUS_LINK: optional(
    'Sync',
    forms.pattern(
      /^https?:\/\/[\x21-\x7e]{1,1000}$/,
      'an address that begins with https:// or http://',
      'https://wiki.example.com/gateway',
    ),
    'Link of a commit status. When unset: none.',
  ),
  GATEWRIGHT_NOTIFY_URL: optional(
    'Sync',
    forms.line('an address, or a path to a file that holds one', '/run/secrets/notify-url', 2048),
    'Address to which `sync` posts each change of its state; without it nothing is posted.',
    { secret: true },
  ),
  GATEWRIGHT_NOTIFY_FORM: defaulted(
    'Sync',
    forms.noticeForm,
    'json',
    'Format of notifications: json, or text for Slack and compatible services.',
  ),
  GATEWRIGHT_NOTIFY_SECRET: optional(
    'Sync',
    forms.webhookSecret,
    'Secret that signs json notifications. When unset: unsigned.',
    { secret: true },
  ),
};
