/** Knows every environment variable: its name, form, default, group and meaning, in one schema. */
import { z } from 'zod';
import { blobVariables } from './blob-variables.ts';
import { databaseVariables } from './database-variables.ts';
import * as forms from './forms.ts';
import { inferenceVariables } from './inference-variables.ts';
import { kubernetesVariables } from './kubernetes-variables.ts';
import { mailVariables } from './mail-variables.ts';
import { notifyVariables } from './notify-variables.ts';
import { proxyVariables } from './proxy-variables.ts';
import { signInVariables } from './sign-in-variables.ts';
import { traceVariables } from './trace-variables.ts';
import { defaulted, type Facts, factsOf, optional, type Traits } from './variable.ts';
import { vaultVariables } from './vault-variables.ts';

/** Of a setting whose feature does not exist yet. Whoever sets it is told that it changes nothing. */
const notYet: Traits = { effective: false };

function feature(meaning: string, traits: Traits = {}) {
  return defaulted('Features', forms.toggle, 'ON', meaning, traits);
}

const alphanumeric = forms.pattern(/^[A-Za-z0-9]{1,32}$/, '1 to 32 letters and digits', 'acme');
const listenAddress: forms.Form<string> = { ...forms.host, example: '0.0.0.0' };
const metadataPrefix = forms.pattern(
  /^[\w.:-]{0,64}$/,
  'at most 64 letters, digits, _ . : -',
  'h_',
);
const targets = forms.integer(1, 1000, '10');
const days = forms.integer(1, 36_500, '90');

export const environment = z.object({
  ...databaseVariables,

  GUARDRAILS_ENABLED: feature(
    'OFF: the routes of guardrails and their mappings answer 403, and none judges a request.',
  ),
  API_ACCESS_ENABLED: feature(
    'OFF: the routes of API keys answer 403. Keys that exist go on working and expiring.',
  ),
  DATA_EXPORTS_ENABLED: feature(
    'OFF: the routes of exports of the log answer 403, and none is written.',
  ),
  USAGE_LIMITS_ENABLED: feature(
    'OFF: the routes of usage-limit policies answer 403, the gateway holds nobody to a budget, no counter is reset and no alert is sent.',
  ),
  AUDIT_LOGS_ENABLED: feature(
    'OFF: changes leave no audit rows, none is sealed, and the route of the audit log answers 403.',
  ),
  SCIM_ENABLED: feature('OFF: the routes of SCIM answer 403. What directories have brought stays.'),
  POLICY_ENABLED: feature(
    'OFF: the routes of policies answer 403, and the gateway holds nobody to one.',
  ),
  MCP_ENABLED: feature('OFF: the routes of MCP integrations and servers answer 403.'),
  DISABLE_ORG_CREATION: defaulted(
    'Features',
    forms.toggle,
    'OFF',
    'ON: no new organisations.',
    notYet,
  ),

  LOG_RETENTION_DISPLAY: defaulted(
    'Retention',
    days,
    '90',
    'Days that each request for a model is kept in the log.',
  ),
  GATEWRIGHT_AUDIT_RETENTION_DAYS: optional(
    'Retention',
    days,
    'Days that rows of the audit log are kept; for good when unset.',
  ),
  GATEWRIGHT_RESPONSE_RETENTION_DAYS: defaulted(
    'Retention',
    days,
    '30',
    'Days that responses are kept which the gateway keeps for callers.',
  ),
  GATEWRIGHT_THREAD_RETENTION_DAYS: defaulted(
    'Retention',
    days,
    '60',
    'Days that threads which the gateway keeps for callers are kept after their last use, with messages and runs.',
  ),
  METRICS_RETENTION_DISPLAY: defaulted(
    'Retention',
    days,
    '365',
    'Days that hourly totals of requests for models are kept.',
  ),
  LOG_RETENTION_ENFORCE: defaulted(
    'Retention',
    forms.toggle,
    'ON',
    'OFF: no request is deleted from the log.',
  ),
  METRICS_RETENTION_ENFORCE: defaulted(
    'Retention',
    forms.toggle,
    'ON',
    'OFF: no totals are deleted.',
  ),

  GATEWRIGHT_MASTER_KEY: optional(
    'Keys',
    forms.keyBytes,
    'Key over all others. Losing it loses every stored secret.',
    { secret: true },
  ),
  GATEWRIGHT_MASTER_KEY_PREVIOUS: optional(
    'Keys',
    forms.keyBytes,
    'What it was before, until a rotation is over.',
    { secret: true },
  ),
  API_KEY_PREFIX: optional('Keys', alphanumeric, 'Start of every new API key.'),

  BLOCK_INLINE_CONFIG: defaulted(
    'Configs',
    forms.toggle,
    'OFF',
    'ON: requests may name saved configs only, and no address or headers of their own.',
  ),
  MAX_ROOT_CONFIG_TARGETS: optional(
    'Configs',
    targets,
    'Targets at the root of a config; the built-in limit when unset.',
  ),
  MAX_NESTED_CONFIG_TARGETS: optional(
    'Configs',
    targets,
    'Targets of a nested config; the built-in limit when unset.',
  ),
  MAX_CONDITIONAL_ROOT_CONFIG_TARGETS: optional(
    'Configs',
    targets,
    'Targets of a conditional config; the built-in limit when unset.',
  ),
  HEADERS_TO_METADATA: optional(
    'Configs',
    forms.headerNames,
    'Request headers copied into the metadata of a request.',
    notYet,
  ),
  METADATA_MAP_KEY_PREFIX: optional(
    'Configs',
    metadataPrefix,
    'Put before the metadata keys made from headers.',
    notYet,
  ),

  TRUSTED_CUSTOM_HOSTS: optional(
    'Network',
    forms.trustedHosts,
    'Private hosts that MCP integrations, guardrails, configs and notifications may name; never cloud metadata.',
  ),
  ...proxyVariables,

  GATEWRIGHT_HOST: defaulted('Server', listenAddress, '127.0.0.1', 'Address to listen on.'),
  PORT: defaulted(
    'Server',
    forms.listenPort,
    '8080',
    'Port of the APIs and of the probes /livez, /readyz and /startupz; 0 takes a free one.',
  ),
  GATEWRIGHT_METRICS_PORT: defaulted(
    'Server',
    { ...forms.listenPort, example: '9464' },
    '9464',
    'Port of the Prometheus metrics (/metrics) and, once more, of the probes; 0 takes a free one.',
  ),
  GATEWRIGHT_CONNECTIONS_MAX: defaulted(
    'Server',
    forms.integer(1, 1_000_000, '2000'),
    '2000',
    'Connections to the API at most; those beyond are answered 503 and closed.',
  ),
  GATEWRIGHT_LAME_DUCK_SECONDS: optional(
    'Server',
    forms.integer(0, 3600, '5'),
    'Seconds at shutdown that /readyz says 503 while all is served; when unset 5, under `up` 0.',
  ),
  GATEWRIGHT_SHUTDOWN_DRAIN_SECONDS: defaulted(
    'Server',
    forms.integer(0, 3600, '20'),
    '20',
    'Seconds that running requests are given after that, when nothing new is accepted.',
  ),
  GATEWRIGHT_LOG_LEVEL: optional(
    'Server',
    forms.logLevel,
    'Least serious log lines to write; when unset LOG_LEVEL, then info (warn for short commands).',
  ),
  LOG_LEVEL: optional('Server', forms.logLevel, 'Same, for deployments that already set it.'),
  GATEWRIGHT_HOME: defaulted(
    'Server',
    { ...forms.path, example: '/var/lib/gatewright' },
    '.gatewright',
    'Folder of the embedded database and its credentials.',
  ),
  GATEWRIGHT_STRICT_SETTINGS: defaulted(
    'Server',
    forms.toggle,
    'OFF',
    'ON: names that look like a mistyped setting are errors.',
  ),

  ...inferenceVariables,
  ...blobVariables,
  ...traceVariables,
  ...mailVariables,
  ...signInVariables,

  GATEWRIGHT_CREDENTIALS: optional(
    'Sync',
    forms.path,
    'credentials.json that the commands use to reach a server.',
  ),
  GATEWRIGHT_OWNER: defaulted(
    'Sync',
    forms.managedName,
    'gatewright',
    'Name under which a sync owns what it creates.',
  ),
  GATEWRIGHT_ENVIRONMENT: optional(
    'Sync',
    { ...forms.managedName, example: 'prod' },
    'Environment of the source that counts: its values and patches below environments/NAME/.',
  ),
  GATEWRIGHT_PRUNE_SETTLE_SECONDS: defaulted(
    'Sync',
    forms.integer(0, 3600, '2'),
    '2',
    'Seconds that a watched source must stay the same before what left it is deleted.',
  ),
  GATEWRIGHT_SYNC_INTERVAL_SECONDS: optional(
    'Sync',
    forms.integer(1, 86_400, '60'),
    'Seconds between two looks at a watched source; when unset 60 for Git, 5 for Git of this machine, 1 for folders.',
  ),
  GATEWRIGHT_SYNC_DRIFT: defaulted(
    'Sync',
    forms.driftMode,
    'heal',
    'What becomes of changes that others make on the server: heal undoes, report tells, off looks for none.',
  ),
  GATEWRIGHT_SYNC_DRIFT_SECONDS: defaulted(
    'Sync',
    forms.integer(1, 86_400, '600'),
    '600',
    'Seconds between two comparisons of an unchanged source with the server.',
  ),
  GATEWRIGHT_SYNC_PORT: optional(
    'Sync',
    { ...forms.listenPort, example: '8081' },
    'Port of `sync` at GATEWRIGHT_HOST for /livez, /readyz, /metrics and /webhook; 0 takes a free one, none when unset.',
  ),
  GATEWRIGHT_SYNC_READY_SECONDS: defaulted(
    'Sync',
    forms.integer(0, 86_400, '300'),
    '300',
    'Seconds that source or server may be out of reach before /readyz of `sync` says 503.',
  ),
  GATEWRIGHT_SYNC_WEBHOOK_SECRET: optional(
    'Sync',
    forms.webhookSecret,
    'Secret that signs POST /webhook of `sync`; without it no webhook is taken.',
    { secret: true },
  ),
  ...notifyVariables,
  GATEWRIGHT_SECRETS_DIR: optional(
    'Sync',
    { ...forms.path, example: '/run/gatewright' },
    'Folder into which issued keys may be written.',
  ),
  ...kubernetesVariables,
  GATEWRIGHT_SYNC_VARIABLES: optional(
    'Sync',
    forms.variableNames,
    'Variables that manifests may read beside GW_VAR_*; never settings or credentials of this program.',
  ),
  ...vaultVariables,
  GATEWRIGHT_AGE_KEY: optional(
    'Sync',
    forms.ageIdentities,
    'Private keys of age that open manifests and values which sops has encrypted.',
    { secret: true },
  ),
  GATEWRIGHT_GIT_TOKEN: optional(
    'Sync',
    forms.line('a token on one line, or a path to a file', '/run/secrets/git-token'),
    'Token or password for a Git source over https.',
    { secret: true },
  ),
  GATEWRIGHT_GIT_USERNAME: optional(
    'Sync',
    forms.line('a user name', 'x-access-token', 128),
    'User that goes with GATEWRIGHT_GIT_TOKEN.',
  ),
  GATEWRIGHT_GIT_CA_FILE: optional(
    'Sync',
    { ...forms.path, example: '/etc/ssl/company.pem' },
    'Certificates to trust for a Git source over https, instead of those of the system.',
  ),
  GATEWRIGHT_GIT_SSH_KEY_FILE: optional(
    'Sync',
    { ...forms.path, example: '/run/secrets/deploy-key' },
    'Private key for a Git source over ssh; the agent and the keys of the user when unset.',
  ),
  GATEWRIGHT_GIT_KNOWN_HOSTS_FILE: optional(
    'Sync',
    { ...forms.path, example: '/etc/ssh/ssh_known_hosts' },
    'Host keys for a Git source over ssh, instead of those of the user.',
  ),
  GATEWRIGHT_GIT_VERIFY: optional(
    'Sync',
    forms.signedObject,
    'What of a Git source must be signed before a file of it is read; nothing when unset.',
  ),
  GATEWRIGHT_GIT_GPG_KEYS_FILE: optional(
    'Sync',
    { ...forms.path, example: '/etc/gatewright/signers.asc' },
    'Public GPG keys whose signatures count, as `gpg --armor --export` writes them.',
  ),
  GATEWRIGHT_GIT_ALLOWED_SIGNERS_FILE: optional(
    'Sync',
    { ...forms.path, example: '/etc/gatewright/allowed_signers' },
    'SSH keys whose signatures count, in the form of ssh-keygen(1), ALLOWED SIGNERS.',
  ),
  GATEWRIGHT_GIT_REVOKED_SIGNERS_FILE: optional(
    'Sync',
    { ...forms.path, example: '/etc/gatewright/revoked_signers' },
    'SSH keys whose signatures count no more: public keys, or a list that ssh-keygen makes.',
  ),
  SSH_AUTH_SOCK: optional(
    'Sync',
    { ...forms.path, example: '/run/user/1000/ssh-agent' },
    'Socket of an ssh-agent that holds the key for a Git source.',
  ),
});

export type Values = z.infer<typeof environment>;
export type Name = keyof Values;

export const names = Object.keys(environment.shape) as Name[];

export function factsAbout(name: Name): Facts {
  return factsOf.get(environment.shape[name]) as Facts;
}
