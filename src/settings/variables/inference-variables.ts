/** Declares the environment variables of the inference API. */
import * as forms from './forms.ts';
import { defaulted, optional } from './variable.ts';

const headerPrefixes: forms.Form<string[]> = {
  ...forms.headerNameList,
  schema: forms.headerNameList.schema.transform((names) => names.map(dashed)),
  expected: 'header name prefixes separated by commas',
  example: 'x-acme-',
};

function dashed(prefix: string): string {
  return prefix.endsWith('-') ? prefix : `${prefix}-`;
}

export const inferenceVariables = {
  GATEWRIGHT_INFERENCE_PORT: optional(
    'Inference',
    { ...forms.listenPort, example: '8787' },
    'Port of the inference API (/v1/chat/completions and others). When unset: 8787. 0, or PORT=0, selects a free port.',
  ),
  GATEWRIGHT_INFERENCE_URL: optional(
    'Inference',
    { ...forms.webAddress, example: 'https://ai.example.com' },
    'Address at which clients reach inference, without /v1. The console writes it into the settings of clients.',
  ),
  GATEWRIGHT_INFERENCE_CONNECTIONS_MAX: defaulted(
    'Inference',
    forms.integer(1, 1_000_000, '10000'),
    '10000',
    'Maximum number of connections to the inference API; further ones receive 503 and are closed.',
  ),
  GATEWRIGHT_INFERENCE_BODY_MIB_MAX: defaulted(
    'Inference',
    forms.integer(1, 1024, '32'),
    '32',
    'Maximum size of a request body in MiB.',
  ),
  GATEWRIGHT_INFERENCE_BODIES_MIB_MAX: optional(
    'Inference',
    forms.integer(1, 1_048_576, '256'),
    'Maximum size of all request bodies in memory in MiB; one key may use half. Further ones receive 503. When unset: a quarter of the memory of the container, or of the machine.',
  ),
  GATEWRIGHT_INFERENCE_JSON_VALUES_MAX: defaulted(
    'Inference',
    forms.integer(10_000, 10_000_000, '400000'),
    '200000',
    'Maximum number of values in a JSON body, at any depth.',
  ),
  GATEWRIGHT_INFERENCE_JSON_DEPTH_MAX: defaulted(
    'Inference',
    forms.integer(10, 1000, '200'),
    '100',
    'Maximum nesting of a JSON body.',
  ),
  GATEWRIGHT_INFERENCE_GRACE_SECONDS: defaulted(
    'Inference',
    forms.integer(0, 86_400, '300'),
    '300',
    'Seconds that keys and configs in use remain valid while the database is unreachable.',
  ),
  GATEWRIGHT_REALTIME_SESSIONS_MAX: defaulted(
    'Inference',
    forms.integer(1, 100_000, '2000'),
    '1000',
    'Maximum number of open realtime sessions of a process; further ones receive 503.',
  ),
  GATEWRIGHT_REALTIME_SESSIONS_OF_KEY_MAX: defaulted(
    'Inference',
    forms.integer(1, 100_000, '20'),
    '100',
    'Maximum number of open realtime sessions of one key in a process; further ones receive 429.',
  ),
  GATEWRIGHT_REALTIME_SESSION_SECONDS_MAX: defaulted(
    'Inference',
    forms.integer(1, 86_400, '1800'),
    '3600',
    'Maximum duration of a realtime session in seconds.',
  ),
  GATEWRIGHT_REALTIME_IDLE_SECONDS: defaulted(
    'Inference',
    forms.integer(1, 86_400, '120'),
    '300',
    'Seconds after which a realtime session without any message is closed.',
  ),
  GATEWRIGHT_REALTIME_MESSAGE_KIB_MAX: defaulted(
    'Inference',
    forms.integer(16, 32_768, '1024'),
    '4096',
    'Maximum size of a message of a realtime session in KiB.',
  ),
  GATEWRIGHT_GUARDRAIL_MODEL_DIR: optional(
    'Inference',
    { ...forms.path, example: '/models/injection' },
    'Folder with manifest.json, an ONNX model and its tokenizer, for the check gatewright.model (docs/reference/guardrail-models.md). When unset: no model.',
  ),
  GATEWRIGHT_SECRETS_BY_OWN_IDENTITY: defaulted(
    'Inference',
    forms.toggle,
    'OFF',
    'ON: secret references and integrations may use the identity of the gateway itself, from its pod or machine (kubernetes, assumedRole, serviceRole, managed, default).',
  ),
  AZURE_FEDERATED_TOKEN_FILE: optional(
    'Inference',
    { ...forms.path, example: '/var/run/secrets/azure/tokens/azure-identity-token' },
    'File with the token of the pod that Entra ID exchanges for integrations with azure_auth_mode workload; read on each use. AKS sets it.',
  ),
  AZURE_TENANT_ID: optional(
    'Inference',
    forms.pattern(/^[A-Za-z0-9][A-Za-z0-9.-]{0,253}$/, 'an id or a domain', 'contoso.example'),
    'Tenant of that token at Entra ID. AKS sets it.',
  ),
  AZURE_CLIENT_ID: optional(
    'Inference',
    forms.pattern(
      /^[A-Za-z0-9-]{1,64}$/,
      'the id of an application',
      '00000000-0000-0000-0000-000000000001',
    ),
    'Application of that token at Entra ID, where an integration names no other. AKS sets it.',
  ),
  AZURE_AUTHORITY_HOST: defaulted(
    'Inference',
    { ...forms.webAddress, example: 'https://login.microsoftonline.us' },
    'https://login.microsoftonline.com',
    'Address of Entra ID for that token. AKS sets it.',
  ),
  GATEWRIGHT_LIMIT_ENFORCEMENT: defaulted(
    'Inference',
    forms.oneOf(['hard', 'soft'], 'soft'),
    'hard',
    'hard: requests beyond a budget, rate limit or policy are rejected. soft: they are counted but never rejected.',
  ),
  GATEWRIGHT_ABORTED_STREAM_CHARGE: defaulted(
    'Inference',
    forms.oneOf(['counted', 'reserved'], 'reserved'),
    'counted',
    'Charge of a stream whose provider reports no usage. counted: the tokens of the text that arrived. reserved: everything that was reserved.',
  ),
  JWT_ENABLED: optional(
    'Inference',
    forms.toggle,
    'ON: callers may use a JWT instead of a key. When unset: ON if GATEWRIGHT_JWT_JWKS_URIS is set.',
  ),
  GATEWRIGHT_JWT_JWKS_URIS: optional(
    'Inference',
    forms.issuerAddresses,
    'Addresses of JSON Web Key Sets with the keys that sign JWTs of callers. The signer can act for every organisation, or for one with the prefix TSG_ID=.',
  ),
  GATEWRIGHT_JWT_ISSUER: optional(
    'Inference',
    forms.line('a text', 'https://login.example.com', 2048),
    'Required value of iss in a JWT.',
  ),
  GATEWRIGHT_JWT_AUDIENCE: optional(
    'Inference',
    forms.line('a text', 'gatewright', 2048),
    'Required audience (aud) of a JWT.',
  ),
  GATEWRIGHT_JWT_CLOCK_TOLERANCE_SECONDS: defaulted(
    'Inference',
    forms.integer(0, 300, '5'),
    '5',
    'Tolerated deviation of the clock of an issuer in seconds.',
  ),
  JWT_LOCAL_AUTH_DEFAULT_SCOPES: optional(
    'Inference',
    forms.scopes,
    'Scopes of a JWT without scopes.',
  ),
  HEADER_ALIAS_PREFIXES: defaulted(
    'Inference',
    headerPrefixes,
    'x-portkey-',
    'Additional prefixes accepted for the x-gateway-* headers, for clients of other gateways.',
  ),
};
