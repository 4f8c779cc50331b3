/** Knows the environment variables by which people sign in. */
import { z } from 'zod';
import { clientKey } from './client-key.ts';
import * as forms from './forms.ts';
import { defaulted, optional } from './variable.ts';

const example = 'https://login.example.com';
const claim = forms.line('the name of a claim, a.b for one within another', 'groups', 128);

/** `platform=admin,everyone=member`. */
const roleMap: forms.Form<ReadonlyMap<string, 'admin' | 'member'>> = {
  schema: z
    .string()
    .max(8192)
    .regex(
      /^[^=,\u0000-\u001f\u007f]+=(?:admin|member)(?:,[^=,\u0000-\u001f\u007f]+=(?:admin|member))*$/,
    )
    .transform(
      (text) =>
        new Map(
          text.split(',').map((pair) => {
            const [value = '', role] = pair.split('=');
            return [value.trim(), role as 'admin' | 'member'];
          }),
        ),
    ),
  expected: 'VALUE=admin or VALUE=member, several separated by commas',
  example: 'platform=admin,everyone=member',
};

export const signInVariables = {
  GATEWRIGHT_SIGN_IN_ISSUER: optional(
    'Sign-in',
    { ...forms.webAddress, example },
    'Issuer of OpenID Connect by which people sign in; nobody does when unset.',
  ),
  GATEWRIGHT_SIGN_IN_CLIENT_ID: optional(
    'Sign-in',
    forms.line('a client id', 'gatewright', 255),
    'As whom the issuer knows this deployment.',
  ),
  GATEWRIGHT_SIGN_IN_CLIENT_SECRET: optional(
    'Sign-in',
    forms.line('a secret on one line, or a path to a file', '/run/secrets/sign-in'),
    'Secret that goes with it; none for a public client.',
    { secret: true },
  ),
  GATEWRIGHT_SIGN_IN_AUTH_METHOD: optional(
    'Sign-in',
    forms.oneOf(
      ['client_secret_post', 'client_secret_basic', 'private_key_jwt'],
      'client_secret_basic',
    ),
    'How the issuer is shown who this is; when unset by the secret in the body, where there is one.',
  ),
  GATEWRIGHT_SIGN_IN_CLIENT_JWKS: optional(
    'Sign-in',
    clientKey,
    'Private key for private_key_jwt, of which the issuer has the public one.',
    { secret: true },
  ),
  GATEWRIGHT_PUBLIC_URL: optional(
    'Sign-in',
    { ...forms.webAddress, example: 'https://gateway.example.com' },
    'Where browsers reach the Admin API; the issuer sends people back to /v1/sign-in/callback there.',
  ),
  GATEWRIGHT_SIGN_IN_TSG_ID: optional(
    'Sign-in',
    forms.pattern(/^\d{10}$/, 'ten digits', '1234567890'),
    'TSG that people sign in to where they name none.',
  ),
  GATEWRIGHT_SIGN_IN_SCOPES: defaulted(
    'Sign-in',
    forms.line('scopes with spaces between', 'openid email profile'),
    'openid email profile',
    'What the issuer is asked to tell.',
  ),
  GATEWRIGHT_SIGN_IN_ROLE_CLAIM: optional(
    'Sign-in',
    claim,
    'Claim that says by GATEWRIGHT_SIGN_IN_ROLES who may sign in, and in which role.',
  ),
  GATEWRIGHT_SIGN_IN_ROLES: optional(
    'Sign-in',
    roleMap,
    'Values of that claim and the role in the organisation that each gives; the highest counts.',
  ),
  GATEWRIGHT_SIGN_IN_GROUPS_CLAIM: optional(
    'Sign-in',
    claim,
    'Claim with the names of the groups that somebody is in, as a directory would say.',
  ),
  GATEWRIGHT_SIGN_IN_PROVISION: defaulted(
    'Sign-in',
    forms.toggle,
    'OFF',
    'ON: whom the issuer knows becomes a user of GATEWRIGHT_SIGN_IN_TSG_ID by signing in.',
  ),
  GATEWRIGHT_SESSION_HOURS: defaulted(
    'Sign-in',
    forms.integer(1, 720, '12'),
    '12',
    'Hours after which somebody has to sign in again.',
  ),
  GATEWRIGHT_SESSION_IDLE_MINUTES: defaulted(
    'Sign-in',
    forms.integer(1, 43_200, '60'),
    '60',
    'Minutes after which a session ends that is not used.',
  ),
};
