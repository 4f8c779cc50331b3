/** Knows the environment variables of what a sync tells others: commit statuses and notifications. */
import * as forms from './forms.ts';
import { defaulted, optional } from './variable.ts';

export const notifyVariables = {
  GATEWRIGHT_COMMIT_STATUS_TOKEN: optional(
    'Sync',
    forms.headerToken,
    'Token that may write commit statuses at the Git host; without it none is written.',
    { secret: true },
  ),
  GATEWRIGHT_COMMIT_STATUS_FORM: optional(
    'Sync',
    forms.gitHostForm,
    'API of the Git host; when unset as its name says (github.com, gitlab.example.com, codeberg.org).',
  ),
  GATEWRIGHT_COMMIT_STATUS_API_URL: optional(
    'Sync',
    forms.line('an address', 'https://git.example.com/api/v1', 2048),
    'Where that API begins; when unset at its usual place of the host of the source.',
  ),
  GATEWRIGHT_COMMIT_STATUS_LINK: optional(
    'Sync',
    forms.pattern(
      /^https?:\/\/[\x21-\x7e]{1,1000}$/,
      'an address that begins with https:// or http://',
      'https://wiki.example.com/gateway',
    ),
    'Address that a commit status leads to; none when unset.',
  ),
  GATEWRIGHT_NOTIFY_URL: optional(
    'Sync',
    forms.line('an address, or a path to a file that holds one', '/run/secrets/notify-url', 2048),
    'Where `sync` posts each change of its state; without it nowhere.',
    { secret: true },
  ),
  GATEWRIGHT_NOTIFY_FORM: defaulted(
    'Sync',
    forms.noticeForm,
    'json',
    'What is posted: json, or text for Slack and what takes the same.',
  ),
  GATEWRIGHT_NOTIFY_SECRET: optional(
    'Sync',
    forms.webhookSecret,
    'Secret that signs what is posted as json; unsigned when unset.',
    { secret: true },
  ),
};
