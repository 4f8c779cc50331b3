/** Declares all environment variables in one schema: name, form, default, group and meaning. */
import { z } from 'zod';
import { blobVariables } from './blob-variables.ts';
import { databaseVariables } from './database-variables.ts';
import * as forms from './forms.ts';
import { inferenceVariables } from './inference-variables.ts';
import { kubernetesVariables } from './kubernetes-variables.ts';
import { linkVariables } from './link-variables.ts';
import { mailVariables } from './mail-variables.ts';
import { mcpVariables } from './mcp-variables.ts';
import { notifyVariables } from './notify-variables.ts';
import { outageVariables } from './outage-variables.ts';
import { proposalVariables } from './proposal-variables.ts';
import { proxyVariables } from './proxy-variables.ts';
import { signInVariables } from './sign-in-variables.ts';
import { spoolVariables } from './spool-variables.ts';
import { traceVariables } from './trace-variables.ts';
import {
  defaulted,
  optional,
  type SettingDescription,
  type SettingTraits,
  settingDescriptions,
} from './variable.ts';
import { vaultVariables } from './vault-variables.ts';

/** For a setting whose feature does not exist yet; setting it causes a warning. */
const notYet: SettingTraits = { effective: false };

function feature(meaning: string, traits: SettingTraits = {}) {
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

export const settingsSchema = z.object({
  ...databaseVariables,

  GUARDRAILS_ENABLED: feature(
    'OFF: the guardrail routes return 403, and no guardrail checks a request.',
  ),
  API_ACCESS_ENABLED: feature(
    'OFF: the API key routes return 403. Existing keys continue to work and to expire.',
  ),
  DATA_EXPORTS_ENABLED: feature('OFF: the log export routes return 403, and no export is written.'),
  USAGE_LIMITS_ENABLED: feature(
    'OFF: the usage-limit policy routes return 403, budgets are not enforced, no counter is reset and no alert is sent.',
  ),
  AUDIT_LOGS_ENABLED: feature(
    'OFF: changes write no audit rows, none are sealed, and the audit log route returns 403.',
  ),
  SCIM_ENABLED: feature('OFF: the SCIM routes return 403. Provisioned users and groups remain.'),
  POLICY_ENABLED: feature('OFF: the policy routes return 403, and policies are not enforced.'),
  MCP_ENABLED: feature('OFF: the routes of MCP integrations and servers return 403.'),
  GATEWRIGHT_CONSOLE_ENABLED: optional(
    'Features',
    forms.toggle,
    'ON: the Admin API serves the console at /console. When unset: OFF, with `up` ON.',
  ),
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
    'Days that model requests remain in the log.',
  ),
  GATEWRIGHT_AUDIT_RETENTION_DAYS: optional(
    'Retention',
    days,
    'Days that audit log rows are stored. When unset: forever.',
  ),
  GATEWRIGHT_RESPONSE_RETENTION_DAYS: defaulted(
    'Retention',
    days,
    '30',
    'Days that stored responses of callers are retained, and conversations after their last use.',
  ),
  GATEWRIGHT_THREAD_RETENTION_DAYS: defaulted(
    'Retention',
    days,
    '60',
    'Days that stored threads of callers, with messages and runs, are retained after their last use.',
  ),
  METRICS_RETENTION_DISPLAY: defaulted(
    'Retention',
    days,
    '365',
    'Days that hourly totals of model requests are retained.',
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
    'Key that encrypts all data keys. Losing it loses every stored secret.',
    { secret: true },
  ),
  GATEWRIGHT_MASTER_KEY_PREVIOUS: optional(
    'Keys',
    forms.keyBytes,
    'Previous master key, until a rotation is complete.',
    { secret: true },
  ),
  API_KEY_PREFIX: optional('Keys', alphanumeric, 'Prefix of every new API key.'),

  BLOCK_INLINE_CONFIG: defaulted(
    'Configs',
    forms.toggle,
    'OFF',
    'ON: requests may only refer to saved configs, not contain inline configs, addresses or headers.',
  ),
  MAX_ROOT_CONFIG_TARGETS: optional(
    'Configs',
    targets,
    'Maximum number of targets at the root of a config. When unset: the built-in limit.',
  ),
  MAX_NESTED_CONFIG_TARGETS: optional(
    'Configs',
    targets,
    'Maximum number of targets of a nested config. When unset: the built-in limit.',
  ),
  MAX_CONDITIONAL_ROOT_CONFIG_TARGETS: optional(
    'Configs',
    targets,
    'Maximum number of targets of a conditional config. When unset: the built-in limit.',
  ),
  HEADERS_TO_METADATA: optional(
    'Configs',
    forms.headerNameList,
    'Request headers copied into the metadata of a request.',
    notYet,
  ),
  METADATA_MAP_KEY_PREFIX: optional(
    'Configs',
    metadataPrefix,
    'Prefix of the metadata keys made from headers.',
    notYet,
  ),

  TRUSTED_CUSTOM_HOSTS: optional(
    'Network',
    forms.trustedHosts,
    'Private hosts that MCP integrations, guardrails, configs and notifications may use; never cloud metadata services.',
  ),
  ...proxyVariables,

  GATEWRIGHT_HOST: defaulted('Server', listenAddress, '127.0.0.1', 'Address to listen on.'),
  PORT: defaulted(
    'Server',
    forms.listenPort,
    '8080',
    'Port of the APIs and of the probes /livez, /readyz and /startupz; 0 selects a free port.',
  ),
  GATEWRIGHT_METRICS_PORT: defaulted(
    'Server',
    { ...forms.listenPort, example: '9464' },
    '9464',
    'Port of the Prometheus metrics (/metrics), which also serves the probes; 0 selects a free port.',
  ),
  GATEWRIGHT_CONNECTIONS_MAX: defaulted(
    'Server',
    forms.integer(1, 1_000_000, '2000'),
    '2000',
    'Maximum number of connections to the API; further ones receive 503 and are closed.',
  ),
  GATEWRIGHT_LAME_DUCK_SECONDS: optional(
    'Server',
    forms.integer(0, 3600, '5'),
    'Seconds at shutdown during which /readyz returns 503 while requests are still served. When unset: 5, with `up` 0.',
  ),
  GATEWRIGHT_SHUTDOWN_DRAIN_SECONDS: defaulted(
    'Server',
    forms.integer(0, 3600, '20'),
    '20',
    'Seconds that running requests may then take to finish, while no new ones are accepted.',
  ),
  GATEWRIGHT_LOG_LEVEL: optional(
    'Server',
    forms.logLevel,
    'Lowest level of log lines to write. When unset: LOG_LEVEL, else info (warn for short commands).',
  ),
  LOG_LEVEL: optional(
    'Server',
    forms.logLevel,
    'Fallback for GATEWRIGHT_LOG_LEVEL, for deployments that already set it.',
  ),
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
    'ON: variables that look like a mistyped setting are errors.',
  ),

  ...inferenceVariables,
  ...mcpVariables,

  ...linkVariables,
  ...blobVariables,
  ...outageVariables,
  ...traceVariables,
  ...spoolVariables,
  ...mailVariables,
  ...signInVariables,

  GATEWRIGHT_CREDENTIALS: optional(
    'Sync',
    forms.path,
    'credentials.json with which commands connect to a server.',
  ),
  GATEWRIGHT_OWNER: defaulted(
    'Sync',
    forms.managedName,
    'gatewright',
    'Owner name of the resources that sync creates.',
  ),
  GATEWRIGHT_ENVIRONMENT: optional(
    'Sync',
    { ...forms.managedName, example: 'prod' },
    'Environment of the source: selects the values and patches below environments/NAME/.',
  ),
  GATEWRIGHT_PRUNE_SETTLE_SECONDS: defaulted(
    'Sync',
    forms.integer(0, 3600, '2'),
    '2',
    'Seconds that a watched source must stay unchanged before removed resources are deleted.',
  ),
  GATEWRIGHT_SYNC_INTERVAL_SECONDS: optional(
    'Sync',
    forms.integer(1, 86_400, '60'),
    'Seconds between two checks of a watched source. When unset: 60 for Git, 5 for local Git, 1 for folders.',
  ),
  GATEWRIGHT_SYNC_DRIFT: defaulted(
    'Sync',
    forms.driftMode,
    'heal',
    'Reaction to changes by others on the server: heal reverts them, report only reports them, off ignores them.',
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
    'Port of `sync` at GATEWRIGHT_HOST for /livez, /readyz, /metrics and /webhook; 0 selects a free port. When unset: no listener.',
  ),
  GATEWRIGHT_SYNC_READY_SECONDS: defaulted(
    'Sync',
    forms.integer(0, 86_400, '300'),
    '300',
    'Seconds that source or server may be unreachable before /readyz of `sync` returns 503.',
  ),
  GATEWRIGHT_SYNC_WEBHOOK_SECRET: optional(
    'Sync',
    forms.webhookSecret,
    'Secret that signs POST /webhook of `sync`; without it webhooks are rejected.',
    { secret: true },
  ),
  ...notifyVariables,
  ...proposalVariables,
  GATEWRIGHT_SECRETS_DIR: optional(
    'Sync',
    { ...forms.path, example: '/run/gatewright' },
    'Folder into which issued keys may be written.',
  ),
  ...kubernetesVariables,
  GATEWRIGHT_SYNC_VARIABLES: optional(
    'Sync',
    forms.variableNames,
    'Variables that manifests may read in addition to GW_VAR_*; never settings or credentials of this program.',
  ),
  ...vaultVariables,
  GATEWRIGHT_AGE_KEY: optional(
    'Sync',
    forms.ageIdentities,
    'Private age keys that decrypt manifests and values encrypted with sops.',
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
    'User name for GATEWRIGHT_GIT_TOKEN.',
  ),
  GATEWRIGHT_GIT_CA_FILE: optional(
    'Sync',
    { ...forms.path, example: '/etc/ssl/company.pem' },
    'Certificates to trust for a Git source over https, instead of those of the system.',
  ),
  GATEWRIGHT_GIT_SSH_KEY_FILE: optional(
    'Sync',
    { ...forms.path, example: '/run/secrets/deploy-key' },
    'Private key for a Git source over ssh. When unset: the ssh-agent and the keys of the user.',
  ),
  GATEWRIGHT_GIT_KNOWN_HOSTS_FILE: optional(
    'Sync',
    { ...forms.path, example: '/etc/ssh/ssh_known_hosts' },
    'Host keys for a Git source over ssh, instead of those of the user.',
  ),
  GATEWRIGHT_GIT_VERIFY: optional(
    'Sync',
    forms.signedObject,
    'What must be signed in a Git source before its files are read. When unset: nothing.',
  ),
  GATEWRIGHT_GIT_GPG_KEYS_FILE: optional(
    'Sync',
    { ...forms.path, example: '/etc/gatewright/signers.asc' },
    'GPG public keys whose signatures are accepted, as written by `gpg --armor --export`.',
  ),
  GATEWRIGHT_GIT_ALLOWED_SIGNERS_FILE: optional(
    'Sync',
    { ...forms.path, example: '/etc/gatewright/allowed_signers' },
    'SSH keys whose signatures are accepted, in the format of ssh-keygen(1), ALLOWED SIGNERS.',
  ),
  GATEWRIGHT_GIT_REVOKED_SIGNERS_FILE: optional(
    'Sync',
    { ...forms.path, example: '/etc/gatewright/revoked_signers' },
    'SSH keys whose signatures are no longer accepted: public keys, or a key revocation list of ssh-keygen.',
  ),
  SSH_AUTH_SOCK: optional(
    'Sync',
    { ...forms.path, example: '/run/user/1000/ssh-agent' },
    'Socket of an ssh-agent that holds the key for a Git source.',
  ),
});

export type SettingValues = z.infer<typeof settingsSchema>;
export type SettingName = keyof SettingValues;

export const settingNames = Object.keys(settingsSchema.shape) as SettingName[];

export function describeSetting(name: SettingName): SettingDescription {
  return settingDescriptions.get(settingsSchema.shape[name]) as SettingDescription;
}
