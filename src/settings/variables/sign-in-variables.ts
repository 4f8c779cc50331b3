/** Declares the environment variables of sign-in with OpenID Connect. */
import { z } from 'zod';
import { clientKey } from './client-key.ts';
import * as forms from './forms.ts';
import { defaulted, optional } from './variable.ts';

const example = 'https://login.example.com';
const claim = forms.line('the name of a claim, a.b for a nested claim', 'groups', 128);

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
    'OpenID Connect issuer for sign-in. When unset: sign-in is off.',
  ),
  GATEWRIGHT_SIGN_IN_CLIENT_ID: optional(
    'Sign-in',
    forms.line('a client id', 'gatewright', 255),
    'Client ID of this deployment at the issuer.',
  ),
  GATEWRIGHT_SIGN_IN_CLIENT_SECRET: optional(
    'Sign-in',
    forms.line('a secret on one line, or a path to a file', '/run/secrets/sign-in'),
    'Client secret; unset for a public client.',
    { secret: true },
  ),
  GATEWRIGHT_SIGN_IN_AUTH_METHOD: optional(
    'Sign-in',
    forms.oneOf(
      ['client_secret_post', 'client_secret_basic', 'private_key_jwt'],
      'client_secret_basic',
    ),
    'How this deployment authenticates to the issuer. When unset: client_secret_post if a secret is set.',
  ),
  GATEWRIGHT_SIGN_IN_CLIENT_JWKS: optional(
    'Sign-in',
    clientKey,
    'Private key for private_key_jwt; its public key is registered at the issuer.',
    { secret: true },
  ),
  GATEWRIGHT_PUBLIC_URL: optional(
    'Sign-in',
    { ...forms.webAddress, example: 'https://gateway.example.com' },
    'Address at which browsers reach the Admin API; the issuer redirects to /v1/sign-in/callback there. When unset: the loopback addresses of this machine.',
  ),
  GATEWRIGHT_SIGN_IN_TSG_ID: optional(
    'Sign-in',
    forms.pattern(/^\d{10}$/, 'ten digits', '1234567890'),
    'TSG that people sign in to when they name none.',
  ),
  GATEWRIGHT_SIGN_IN_SCOPES: defaulted(
    'Sign-in',
    forms.line('scopes separated by spaces', 'openid email profile'),
    'openid email profile',
    'Scopes requested from the issuer.',
  ),
  GATEWRIGHT_SIGN_IN_ROLE_CLAIM: optional(
    'Sign-in',
    claim,
    'Claim that GATEWRIGHT_SIGN_IN_ROLES maps to roles; it decides who may sign in.',
  ),
  GATEWRIGHT_SIGN_IN_ROLES: optional(
    'Sign-in',
    roleMap,
    'Organisation role for each value of that claim; the highest role applies.',
  ),
  GATEWRIGHT_SIGN_IN_GROUPS_CLAIM: optional(
    'Sign-in',
    claim,
    'Claim with the group names of a person, as a directory would provide them.',
  ),
  GATEWRIGHT_SIGN_IN_PROVISION: defaulted(
    'Sign-in',
    forms.toggle,
    'OFF',
    'ON: the first sign-in creates a user of GATEWRIGHT_SIGN_IN_TSG_ID.',
  ),
  GATEWRIGHT_SESSION_HOURS: defaulted(
    'Sign-in',
    forms.integer(1, 720, '12'),
    '12',
    'Maximum duration of a session in hours.',
  ),
  GATEWRIGHT_SESSION_IDLE_MINUTES: defaulted(
    'Sign-in',
    forms.integer(1, 43_200, '60'),
    '60',
    'Minutes after which an unused session ends.',
  ),
};
