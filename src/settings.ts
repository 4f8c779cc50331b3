/** Knows the settings of a deployment, read from the environment and `.env` and checked all at once. */
import { Failure } from './failure.ts';
import type { Secret } from './secret.ts';
import { type BlobSettings, blobFaults, blobSettings } from './settings/blobs.ts';
import { readDatabases } from './settings/database.ts';
import { faultOf } from './settings/fault.ts';
import type { databaseTlsModes, driftModes, logLevels } from './settings/forms.ts';
import { type GitSettings, gitSettings } from './settings/git.ts';
import { type InferenceSettings, inferenceSettings, tokenFaults } from './settings/inference.ts';
import { type AlertSettings, alertSettings, mailFaults } from './settings/mail.ts';
import {
  type MasterKeySettings,
  masterKeyFaults,
  masterKeySettings,
} from './settings/master-keys.ts';
import { commitStatusSettings, notificationSettings, notifyFaults } from './settings/notify.ts';
import { type ProxySettings, proxySettings } from './settings/proxies.ts';
import { secretIn } from './settings/secrets.ts';
import { type SignInSettings, signInFaults, signInSettings } from './settings/sign-in.ts';
import { signatureFaults } from './settings/signatures.ts';
import { collect, type Given, namesSet, openSources, type Sources } from './settings/sources.ts';
import { sortUnknown } from './settings/unknown.ts';
import { environment, factsAbout, type Name, names, type Values } from './settings/variables.ts';
import { type VaultSettings, vaultFaults, vaultSettings } from './settings/vault.ts';
import type { TrustedHosts } from './trusted-hosts.ts';

export type DatabaseTlsMode = (typeof databaseTlsModes)[number];

/** What a watched source does about changes that others make on the server. */
export type DriftMode = (typeof driftModes)[number];

export type LogLevel = (typeof logLevels)[number];

/** Of an object in a cluster. */
interface KubernetesName {
  readonly namespace: string;
  readonly name: string;
}

/** One database endpoint. Either `host` and `port`, or `socketPath`, is used. */
export interface DatabaseSettings {
  readonly host: string;
  readonly port: number;
  readonly socketPath: string | null;
  readonly user: string;
  readonly password: Secret | undefined;
  readonly name: string;
  readonly poolSize: number;
  /** How long a request waits for a connection that is free; 5 when left out. */
  readonly poolWaitSeconds?: number;
  /** How long a statement may take, and three times as long as it may wait for a lock; 10 when left out. */
  readonly statementSeconds?: number;
  /** How long each step of a new connection may take; 2 when left out. */
  readonly connectTimeoutSeconds?: number;
  readonly tls: {
    readonly mode: DatabaseTlsMode;
    /** PEM text, already validated. */
    readonly ca: string | null;
    readonly cert: string | null;
    readonly key: Secret | null;
  };
  /**
   * Reads the files behind password and certificates again, so that a new connection uses what a
   * rotation has put there; throws {@link Failure} when they are not usable. Absent: nothing can change.
   */
  readonly refresh?: () => DatabaseSettings;
}

export interface Settings {
  /** Null when none of DB_HOST, DB_SOCKET and DB_URL is set: the embedded server is meant. */
  readonly database: DatabaseSettings | null;
  readonly databaseReader: DatabaseSettings | null;
  /** DB_POOL_SIZE, for the embedded server too. */
  readonly databasePoolSize: number;
  /** How long `serve` waits at its start for a database that does not answer; 0 for not at all. */
  readonly databaseStartWaitSeconds: number;
  /** Reads go to the reader while the writer is down (MYSQL_WRITER_HADR_MODE). */
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
  readonly server: {
    readonly host: string;
    /** 0 takes a free port. */
    readonly port: number;
    readonly metricsPort: number;
    readonly connectionsMax: number;
    /** Null when unset: 5 for a deployment, 0 for `up`. */
    readonly lameDuckSeconds: number | null;
    readonly drainSeconds: number;
  };
  readonly inference: InferenceSettings;
  /** Where files of callers lie. */
  readonly blobs: BlobSettings;
  /** Null where nobody signs in. */
  readonly signIn: SignInSettings | null;
  /** Who is told when budgets reach their threshold or their end. */
  readonly alerts: AlertSettings;
  /** Days that sealed rows of the audit log are kept; null for good. */
  readonly auditDays: number | null;
  /** Null when unset: info for servers, warn for commands that end by themselves. */
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
  /** Private hosts that may be called all the same. */
  readonly trustedHosts: TrustedHosts;
  /** By which others are reached; null for none. */
  readonly proxies: ProxySettings | null;
  readonly sync: {
    /** Path of credentials.json, or null when unset. */
    readonly credentialsFile: string | null;
    readonly owner: string;
    /** Folder of files that `secretOutput` may write, or null when unset. */
    readonly secretsDirectory: string | null;
    /** Where Secrets may be read and written. */
    readonly kubernetes: {
      /** None when the setting is unset. */
      readonly namespaces: readonly string[];
      /** Path of a kubeconfig, or null for the account of the pod. */
      readonly configFile: string | null;
      /** The ConfigMap that shows where the sync stands; null for none. */
      readonly status: KubernetesName | null;
      /** What has to be held to lead; null for nothing. */
      readonly lease: KubernetesName | null;
    };
    /** How long a watched source must stay the same before what left it is deleted. */
    readonly pruneSettleSeconds: number;
    /** Between two looks at a watched source; null when unset: as fits the source. */
    readonly intervalSeconds: number | null;
    readonly driftMode: DriftMode;
    /** Between two comparisons of an unchanged source with the server. */
    readonly driftSeconds: number;
    /** Of the daemon's own listener; 0 takes a free one, null opens none. */
    readonly port: number | null;
    /** How long source or server may be out of reach before the daemon counts as not ready. */
    readonly readySeconds: number;
    readonly webhookSecret: Secret | undefined;
    /** Undefined where no commit status is written. */
    readonly commitStatus: ReturnType<typeof commitStatusSettings>;
    /** Undefined where nobody is notified. */
    readonly notification: ReturnType<typeof notificationSettings>;
    /** Which of `environments/NAME/` of the source counts. */
    readonly environment: string | null;
    /** Names, and prefixes as `CRM_*`, of variables that manifests may read beside `GW_VAR_*`. */
    readonly variables: readonly string[];
    /** A Vault or OpenBao and what of it manifests may name; null when unset. */
    readonly vault: VaultSettings | null;
    /** Private keys of age that open what sops has encrypted in a source. */
    readonly ageKey: Secret<readonly string[]> | undefined;
    readonly git: GitSettings;
  };
  /** Folder of the embedded database and credentials, as given (`.gatewright`). */
  readonly home: string;
  /** One line each, for the log at start. */
  readonly warnings: readonly string[];
}

/** A switch that turns a whole feature off. */
export type Feature = keyof Settings['features'];

/** By what each is switched. */
export const featureSettings = {
  guardrails: 'GUARDRAILS_ENABLED',
  apiAccess: 'API_ACCESS_ENABLED',
  usageLimits: 'USAGE_LIMITS_ENABLED',
  auditLogs: 'AUDIT_LOGS_ENABLED',
  dataExports: 'DATA_EXPORTS_ENABLED',
  policy: 'POLICY_ENABLED',
  scim: 'SCIM_ENABLED',
  mcp: 'MCP_ENABLED',
} as const satisfies Record<Feature, Name>;

export interface ReadOptions {
  /** Where `.env` lies and relative files begin; the working directory when absent. */
  readonly cwd?: string;
  /** `--strict-settings`. */
  readonly strict?: boolean;
  /** Milliseconds since the epoch, for the dates of certificates. */
  readonly now?: number;
}

/** The settings, with what is wrong with them and where each came from. */
export interface Inspection {
  readonly settings: Settings;
  /** One sentence each; when there is any, `settings` must not be used. */
  readonly faults: readonly string[];
  /** The settings that are set, by name. */
  readonly given: ReadonlyMap<Name, Given>;
}

/** Throws one {@link Failure} that lists every fault, each with its name, origin, form and fix. */
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

/** Several lines: a heading and one fault a line. */
export function faultList(faults: readonly string[]): string {
  const heading =
    faults.length === 1 ? '1 setting is wrong:' : `${faults.length} settings are wrong:`;
  return [heading, ...faults.map((fault) => `  ${fault}`)].join('\n');
}

/** Like {@link readSettings}, for those who want to show the faults beside the values. */
export function inspectSettings(
  env: NodeJS.ProcessEnv = process.env,
  options: ReadOptions = {},
): Inspection {
  const now = options.now ?? Date.now();
  const faults: string[] = [];
  const warnings: string[] = [];
  const sources = openSources({ ...env }, options.cwd ?? process.cwd(), faults);
  const { given, unread } = collect(sources, names, faults);
  const { values, wrong } = parseAll(given, faults);
  const { database, databaseReader } = readDatabases({
    ...{ values, given, unread, wrong, now, faults, warnings },
  });
  const isGiven = (name: Name): boolean => given.has(name) || unread.has(name);
  const wholes = [notifyFaults, tokenFaults, blobFaults, mailFaults, signInFaults];
  faults.push(...signatureFaults(values, wrong), ...vaultFaults(values, wrong));
  faults.push(...masterKeyFaults(values, wrong), ...wholes.flatMap((of) => of(values, isGiven)));
  const strict = options.strict || values.GATEWRIGHT_STRICT_SETTINGS;
  const { slips, idle } = sortUnknown(namesSet(sources));
  (strict ? faults : warnings).push(...slips);
  const withoutEffect = [...idle, ...[...given.keys()].filter(isIdle)].sort();
  if (withoutEffect.length > 0) {
    warnings.push(`without effect in this version: ${withoutEffect.join(', ')}`);
  }
  const settings = {
    ...assemble(values, given),
    database: database && refreshable(database, 'database', sources, given),
    databaseReader: databaseReader && refreshable(databaseReader, 'databaseReader', sources, given),
    masterKeys: masterKeySettings({ values, given }, (which) => readAgain(sources, which)),
    warnings,
  };
  return { settings, faults, given };
}

function isIdle(name: Name): boolean {
  return !factsAbout(name).effective;
}

const databaseNames = names.filter((name) => /^(?:GATEWRIGHT_)?DB_/.test(name));

function refreshable(
  settings: DatabaseSettings,
  which: 'database' | 'databaseReader',
  sources: Sources,
  given: ReadonlyMap<Name, Given>,
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

function readAgain(sources: Sources, wanted: readonly Name[]) {
  const faults: string[] = [];
  const collected = collect(sources, wanted, faults);
  const again = { ...collected, ...parseAll(collected.given, faults) };
  refuseFaults(faults);
  return again;
}

/** Parses each setting by its own schema; one that is wrong counts as unset, so that all are looked at. */
function parseAll(
  given: ReadonlyMap<Name, Given>,
  faults: string[],
): { readonly values: Values; readonly wrong: ReadonlySet<Name> } {
  const values: Record<string, unknown> = {};
  const wrong = new Set<Name>();
  for (const name of names) {
    const found = given.get(name);
    const parsed = environment.shape[name].safeParse(found?.text);
    if (found !== undefined && !parsed.success) {
      faults.push(faultOf(name, found, parsed.error));
      wrong.add(name);
    }
    values[name] = parsed.success ? parsed.data : environment.shape[name].parse(undefined);
  }
  return { values: values as Values, wrong };
}

function assemble(
  values: Values,
  given: ReadonlyMap<Name, Given>,
): Omit<Settings, 'database' | 'databaseReader' | 'masterKeys' | 'warnings'> {
  const secretOf = secretIn(values, given);
  return {
    signIn: signInSettings(values, secretOf),
    databasePoolSize: values.DB_POOL_SIZE,
    databaseStartWaitSeconds: values.GATEWRIGHT_DB_START_WAIT_SECONDS,
    writerHadr: values.MYSQL_WRITER_HADR_MODE,
    features: Object.fromEntries(
      Object.entries(featureSettings).map(([feature, name]) => [feature, values[name]]),
    ) as Settings['features'],
    server: {
      host: values.GATEWRIGHT_HOST,
      port: values.PORT,
      metricsPort: values.GATEWRIGHT_METRICS_PORT,
      connectionsMax: values.GATEWRIGHT_CONNECTIONS_MAX,
      lameDuckSeconds: values.GATEWRIGHT_LAME_DUCK_SECONDS ?? null,
      drainSeconds: values.GATEWRIGHT_SHUTDOWN_DRAIN_SECONDS,
    },
    inference: inferenceSettings(values, secretOf),
    blobs: blobSettings(values, secretOf),
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
    sync: {
      credentialsFile: values.GATEWRIGHT_CREDENTIALS ?? null,
      owner: values.GATEWRIGHT_OWNER,
      secretsDirectory: values.GATEWRIGHT_SECRETS_DIR ?? null,
      kubernetes: {
        namespaces: values.GATEWRIGHT_KUBERNETES_NAMESPACES ?? [],
        configFile: values.GATEWRIGHT_KUBERNETES_CONFIG ?? null,
        status: values.GATEWRIGHT_KUBERNETES_STATUS ?? null,
        lease: values.GATEWRIGHT_KUBERNETES_LEASE ?? null,
      },
      pruneSettleSeconds: values.GATEWRIGHT_PRUNE_SETTLE_SECONDS,
      intervalSeconds: values.GATEWRIGHT_SYNC_INTERVAL_SECONDS ?? null,
      driftMode: values.GATEWRIGHT_SYNC_DRIFT,
      driftSeconds: values.GATEWRIGHT_SYNC_DRIFT_SECONDS,
      port: values.GATEWRIGHT_SYNC_PORT ?? null,
      readySeconds: values.GATEWRIGHT_SYNC_READY_SECONDS,
      webhookSecret: secretOf('GATEWRIGHT_SYNC_WEBHOOK_SECRET'),
      commitStatus: commitStatusSettings(values, secretOf),
      notification: notificationSettings(values, secretOf),
      environment: values.GATEWRIGHT_ENVIRONMENT ?? null,
      variables: values.GATEWRIGHT_SYNC_VARIABLES ?? [],
      vault: vaultSettings(values),
      ageKey: secretOf('GATEWRIGHT_AGE_KEY'),
      git: gitSettings(values, secretOf),
    },
    home: values.GATEWRIGHT_HOME,
  };
}
