/** Knows the environment variables of the inference side. */
import * as forms from './forms.ts';
import { defaulted, optional } from './variable.ts';

const headerPrefixes: forms.Form<string[]> = {
  ...forms.headerNames,
  schema: forms.headerNames.schema.transform((names) => names.map(dashed)),
  expected: 'beginnings of header names separated by commas',
  example: 'x-acme-',
};

function dashed(prefix: string): string {
  return prefix.endsWith('-') ? prefix : `${prefix}-`;
}

export const inferenceVariables = {
  GATEWRIGHT_INFERENCE_PORT: optional(
    'Inference',
    { ...forms.listenPort, example: '8787' },
    'Port of inference (/v1/chat/completions and its like); 8787 when unset, 0 or a PORT of 0 takes a free one.',
  ),
  GATEWRIGHT_INFERENCE_CONNECTIONS_MAX: defaulted(
    'Inference',
    forms.integer(1, 1_000_000, '10000'),
    '10000',
    'Connections for inference at most; those beyond are answered 503 and closed.',
  ),
  GATEWRIGHT_INFERENCE_BODY_MIB_MAX: defaulted(
    'Inference',
    forms.integer(1, 1024, '32'),
    '32',
    'Size of the body of a request at most, in MiB.',
  ),
  GATEWRIGHT_INFERENCE_GRACE_SECONDS: defaulted(
    'Inference',
    forms.integer(0, 86_400, '300'),
    '300',
    'Seconds that keys and configs in use stay good while the database is away.',
  ),
  GATEWRIGHT_SECRETS_BY_OWN_IDENTITY: defaulted(
    'Inference',
    forms.toggle,
    'OFF',
    'ON: secret references may sign in as the gateway itself, by its pod or machine (kubernetes, assumedRole, serviceRole, managed, default).',
  ),
  GATEWRIGHT_LIMIT_ENFORCEMENT: defaulted(
    'Inference',
    forms.oneOf(['hard', 'soft'], 'soft'),
    'hard',
    'soft: budgets, rate limits and policies count, also beyond their end, and refuse nothing.',
  ),
  JWT_ENABLED: optional(
    'Inference',
    forms.toggle,
    'OFF: no JWT is taken in place of a key; when unset ON where GATEWRIGHT_JWT_JWKS_URIS is set.',
  ),
  GATEWRIGHT_JWT_JWKS_URIS: optional(
    'Inference',
    forms.issuerAddresses,
    'Where the keys are published that sign the JWTs of callers (JSON Web Key Sets); whoever has such a key speaks for every organisation, or for the one of TSG_ID=.',
  ),
  GATEWRIGHT_JWT_ISSUER: optional(
    'Inference',
    forms.line('a text', 'https://login.example.com', 2048),
    'What iss of a JWT must be.',
  ),
  GATEWRIGHT_JWT_AUDIENCE: optional(
    'Inference',
    forms.line('a text', 'gatewright', 2048),
    'What aud of a JWT must name.',
  ),
  GATEWRIGHT_JWT_CLOCK_TOLERANCE_SECONDS: defaulted(
    'Inference',
    forms.integer(0, 300, '5'),
    '5',
    'Seconds by which the clock of an issuer may differ.',
  ),
  JWT_LOCAL_AUTH_DEFAULT_SCOPES: optional(
    'Inference',
    forms.scopes,
    'Scopes of a JWT that names none.',
  ),
  HEADER_ALIAS_PREFIXES: optional(
    'Inference',
    headerPrefixes,
    'Further beginnings of the headers x-gateway-*, for clients of other gateways.',
  ),
};
