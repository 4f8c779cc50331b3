/** Reads the settings from the environment and `.env`, and reports all faults at once. */
import { Failure } from './failure.ts';
import type { Secret } from './secret.ts';
import { type BlobSettings, blobFaults, blobSettings } from './settings/groups/blobs.ts';
import {
  type ControlLinkSettings,
  controlLinkFaults,
  controlLinkSettings,
} from './settings/groups/control-link.ts';
import { readDatabases } from './settings/groups/database.ts';
import {
  type InferenceSettings,
  inferenceSettings,
  tokenFaults,
} from './settings/groups/inference.ts';
import { type AlertSettings, alertSettings, mailFaults } from './settings/groups/mail.ts';
import {
  type MasterKeySettings,
  masterKeyFaults,
  masterKeySettings,
} from './settings/groups/master-keys.ts';
import { type McpSettings, mcpFaults, mcpSettings } from './settings/groups/mcp.ts';
import { notifyFaults } from './settings/groups/notify.ts';
import { proposalFaults } from './settings/groups/proposals.ts';
import { type ProxySettings, proxySettings } from './settings/groups/proxies.ts';
import { type ServerSettings, serverSettings } from './settings/groups/server.ts';
import { sessionSettings, type UserSessionSettings } from './settings/groups/sessions.ts';
import { type SignInSettings, signInFaults, signInSettings } from './settings/groups/sign-in.ts';
import { signatureFaults } from './settings/groups/signatures.ts';
import {
  type SnapshotSettings,
  snapshotFaults,
  snapshotSettings,
} from './settings/groups/snapshot.ts';
import { type SpoolSettings, spoolSettings } from './settings/groups/spool.ts';
import { type SyncSettings, syncSettings } from './settings/groups/sync.ts';
import { vaultFaults } from './settings/groups/vault.ts';
import { describeSettingFault, faultList } from './settings/reading/fault.ts';
import { secretIn } from './settings/reading/secrets.ts';
import {
  collectSettings,
  namesSet,
  openSettingSources,
  type SettingSources,
  type SettingText,
} from './settings/reading/sources.ts';
import { classifyUnknownNames } from './settings/reading/unknown.ts';
import type { databaseTlsModes, logLevels } from './settings/variables/forms.ts';
import {
  describeSetting,
  type SettingName,
  type SettingValues,
  settingNames,
  settingsSchema,
} from './settings/variables/variables.ts';
import type { TrustedHosts } from './trusted-hosts.ts';

export type DatabaseTlsMode = (typeof databaseTlsModes)[number];

export type LogLevel = (typeof logLevels)[number];

/** One database endpoint. Either `host` and `port`, or `socketPath`, is used. */
export interface DatabaseSettings {
  readonly host: string;
  readonly port: number;
  readonly socketPath: string | null;
  readonly user: string;
  readonly password: Secret | undefined;
  readonly name: string;
  readonly poolSize: number;
  /** How long a request waits for a free connection; default 5. */
  readonly poolWaitSeconds?: number;
  /** Timeout of a statement, of which a third may be spent waiting for a lock; default 10. */
  readonly statementSeconds?: number;
  /** Timeout of each step of a new connection; default 2. */
  readonly connectTimeoutSeconds?: number;
  readonly tls: {
    readonly mode: DatabaseTlsMode;
    /** PEM text, already validated. */
    readonly ca: string | null;
    readonly cert: string | null;
    readonly key: Secret | null;
  };
  /**
   * Reads the files of password and certificates again, so that a new connection uses rotated ones.
   * Absent when no value comes from a file.
   *
   * @throws Failure when they are not usable
   */
  readonly refresh?: () => DatabaseSettings;
}

export interface Settings {
  /** Null when none of DB_HOST, DB_SOCKET and DB_URL is set; then the embedded server is used. */
  readonly database: DatabaseSettings | null;
  readonly databaseReader: DatabaseSettings | null;
  /** DB_POOL_SIZE; applies to the embedded server too. */
  readonly databasePoolSize: number;
  /** How long `serve` waits at startup for an unreachable database; 0 for not at all. */
  readonly databaseStartWaitSeconds: number;
  /** Whether reads use the reader while the writer is down (MYSQL_WRITER_HADR_MODE). */
  readonly writerHadr: boolean;
  readonly features: {
    readonly guardrails: boolean;
    readonly apiAccess: boolean;
    readonly usageLimits: boolean;
    readonly auditLogs: boolean;
    readonly dataExports: boolean;
    readonly policy: boolean;
    readonly scim: boolean;
    readonly mcp: boolean;
  };
  readonly server: ServerSettings;
  readonly inference: InferenceSettings;
  /** The MCP gateway. */
  readonly mcp: McpSettings;
  /** The link between a control plane and gateways without a database. */
  readonly controlLink: ControlLinkSettings;
  /** Storage of uploaded files. */
  readonly blobs: BlobSettings;
  /** The sealed snapshot. */
  readonly snapshot: SnapshotSettings;
  readonly spool: SpoolSettings;
  /** Null when there is no identity provider. */
  readonly signIn: SignInSettings | null;
  readonly sessions: UserSessionSettings;
  /** Mail and recipients of budget alerts. */
  readonly alerts: AlertSettings;
  /** Days for which sealed audit log rows are stored; null for ever. */
  readonly auditDays: number | null;
  /** Null when unset: info for servers, warn for short-lived commands. */
  readonly logLevel: LogLevel | null;
  /** At least 32 bytes, or null when unset. */
  readonly masterKeys: MasterKeySettings | null;
  /** '' or alphanumeric. */
  readonly apiKeyPrefix: string;
  /** Null means the built-in limit. */
  readonly configTargets: {
    readonly rootMax: number | null;
    readonly nestedMax: number | null;
    readonly conditionalRootMax: number | null;
  };
  /** Private hosts that may be called. */
  readonly trustedHosts: TrustedHosts;
  /** Null when no proxy is set. */
  readonly proxies: ProxySettings | null;
  readonly sync: SyncSettings;
  /** Folder of the embedded database and credentials, as given (`.gatewright`). */
  readonly home: string;
  /** One line each, logged at startup. */
  readonly warnings: readonly string[];
}

/** A feature that can be switched off. */
export type Feature = keyof Settings['features'];

/** The variable that switches each feature. */
export const featureSettings = {
  guardrails: 'GUARDRAILS_ENABLED',
  apiAccess: 'API_ACCESS_ENABLED',
  usageLimits: 'USAGE_LIMITS_ENABLED',
  auditLogs: 'AUDIT_LOGS_ENABLED',
  dataExports: 'DATA_EXPORTS_ENABLED',
  policy: 'POLICY_ENABLED',
  scim: 'SCIM_ENABLED',
  mcp: 'MCP_ENABLED',
} as const satisfies Record<Feature, SettingName>;

export interface ReadOptions {
  /** Folder of `.env` and of relative paths; default: the working directory. */
  readonly cwd?: string;
  /** `--strict-settings`. */
  readonly strict?: boolean;
  /** Milliseconds since the epoch, for the dates of certificates. */
  readonly now?: number;
}

/** The settings, their faults and their origins. */
export interface Inspection {
  readonly settings: Settings;
  /** One sentence each; when there is any, `settings` must not be used. */
  readonly faults: readonly string[];
  /** The settings that are set, by name. */
  readonly given: ReadonlyMap<SettingName, SettingText>;
}

/** @throws Failure that lists every fault with name, origin, expected form and fix */
export function readSettings(
  env: NodeJS.ProcessEnv = process.env,
  options: ReadOptions = {},
): Settings {
  const { settings, faults } = inspectSettings(env, options);
  refuseFaults(faults);
  return settings;
}

function refuseFaults(faults: readonly string[]): void {
  if (faults.length > 0) throw new Failure('invalidInput', faultList(faults));
}

/** Like {@link readSettings}, but returns the faults instead of throwing. */
export function inspectSettings(
  env: NodeJS.ProcessEnv = process.env,
  options: ReadOptions = {},
): Inspection {
  const now = options.now ?? Date.now();
  const faults: string[] = [];
  const warnings: string[] = [];
  const sources = openSettingSources({ ...env }, options.cwd ?? process.cwd(), faults);
  const { given, unread } = collectSettings(sources, settingNames, faults);
  const { values, wrong } = parseAll(given, faults);
  const { database, databaseReader } = readDatabases({
    values,
    given,
    unread,
    wrong,
    now,
    faults,
    warnings,
  });
  const isGiven = (name: SettingName): boolean => given.has(name) || unread.has(name);
  const wholes = [
    controlLinkFaults,
    notifyFaults,
    proposalFaults,
    tokenFaults,
    mcpFaults,
    blobFaults,
    snapshotFaults,
    mailFaults,
    signInFaults,
  ];
  faults.push(...signatureFaults(values, wrong), ...vaultFaults(values, wrong));
  faults.push(...masterKeyFaults(values, wrong), ...wholes.flatMap((of) => of(values, isGiven)));
  const strict = options.strict || values.GATEWRIGHT_STRICT_SETTINGS;
  const { slips, idle } = classifyUnknownNames(namesSet(sources));
  (strict ? faults : warnings).push(...slips);
  const withoutEffect = [...idle, ...[...given.keys()].filter(isIdle)].sort();
  if (withoutEffect.length > 0) {
    warnings.push(`without effect in this version: ${withoutEffect.join(', ')}`);
  }
  const settings = {
    ...assemble(values, given),
    database: database && refreshable(database, 'database', sources, given),
    databaseReader: databaseReader && refreshable(databaseReader, 'databaseReader', sources, given),
    controlLink: controlLinkSettings({ values, given, now, faults, warnings }, (which) =>
      readAgain(sources, which),
    ),
    masterKeys: masterKeySettings({ values, given }, (which) => readAgain(sources, which)),
    warnings,
  };
  return { settings, faults, given };
}

function isIdle(name: SettingName): boolean {
  return !describeSetting(name).effective;
}

const databaseNames = settingNames.filter((name) => /^(?:GATEWRIGHT_)?DB_/.test(name));

function refreshable(
  settings: DatabaseSettings,
  which: 'database' | 'databaseReader',
  sources: SettingSources,
  given: ReadonlyMap<SettingName, SettingText>,
): DatabaseSettings {
  if (!databaseNames.some((name) => given.get(name)?.origin.startsWith('file:'))) return settings;
  const refresh = (): DatabaseSettings => {
    const faults: string[] = [];
    const again = readAgain(sources, databaseNames);
    const next = readDatabases({ ...again, now: Date.now(), faults, warnings: [] })[which];
    refuseFaults(faults);
    return { ...(next ?? settings), refresh };
  };
  return { ...settings, refresh };
}

function readAgain(sources: SettingSources, wanted: readonly SettingName[]) {
  const faults: string[] = [];
  const collected = collectSettings(sources, wanted, faults);
  const again = { ...collected, ...parseAll(collected.given, faults) };
  refuseFaults(faults);
  return again;
}

/** Parses each setting separately; an invalid one counts as unset, so that all are checked. */
function parseAll(
  given: ReadonlyMap<SettingName, SettingText>,
  faults: string[],
): { readonly values: SettingValues; readonly wrong: ReadonlySet<SettingName> } {
  const values: Record<string, unknown> = {};
  const wrong = new Set<SettingName>();
  for (const name of settingNames) {
    const found = given.get(name);
    const parsed = settingsSchema.shape[name].safeParse(found?.text);
    if (found !== undefined && !parsed.success) {
      faults.push(describeSettingFault(name, found, parsed.error));
      wrong.add(name);
    }
    values[name] = parsed.success ? parsed.data : settingsSchema.shape[name].parse(undefined);
  }
  return { values: values as SettingValues, wrong };
}

function assemble(
  values: SettingValues,
  given: ReadonlyMap<SettingName, SettingText>,
): Omit<Settings, 'database' | 'databaseReader' | 'controlLink' | 'masterKeys' | 'warnings'> {
  const secretOf = secretIn(values, given);
  return {
    signIn: signInSettings(values, secretOf),
    sessions: sessionSettings(values),
    databasePoolSize: values.DB_POOL_SIZE,
    databaseStartWaitSeconds: values.GATEWRIGHT_DB_START_WAIT_SECONDS,
    writerHadr: values.MYSQL_WRITER_HADR_MODE,
    features: Object.fromEntries(
      Object.entries(featureSettings).map(([feature, name]) => [feature, values[name]]),
    ) as Settings['features'],
    server: serverSettings(values),
    inference: inferenceSettings(values, secretOf),
    mcp: mcpSettings(values),
    blobs: blobSettings(values, secretOf),
    snapshot: snapshotSettings(values),
    spool: spoolSettings(values),
    alerts: alertSettings(values, secretOf),
    auditDays: values.GATEWRIGHT_AUDIT_RETENTION_DAYS ?? null,
    logLevel: values.GATEWRIGHT_LOG_LEVEL ?? values.LOG_LEVEL ?? null,
    apiKeyPrefix: values.API_KEY_PREFIX ?? '',
    configTargets: {
      rootMax: values.MAX_ROOT_CONFIG_TARGETS ?? null,
      nestedMax: values.MAX_NESTED_CONFIG_TARGETS ?? null,
      conditionalRootMax: values.MAX_CONDITIONAL_ROOT_CONFIG_TARGETS ?? null,
    },
    trustedHosts: values.TRUSTED_CUSTOM_HOSTS ?? [],
    proxies: proxySettings(values, secretOf),
    sync: syncSettings(values, secretOf),
    home: values.GATEWRIGHT_HOME,
  };
}
