/** Groups and validates the settings of the inference API. */
import { plainHttpFault } from '../../trusted-hosts.ts';
import type { secretIn } from '../reading/secrets.ts';
import type { SettingName, SettingValues } from '../variables/variables.ts';
import { type AwsSettings, awsSettings } from './aws.ts';
import { type AzureSettings, azureSettings } from './azure.ts';
import { type TraceSettings, traceSettings } from './traces.ts';

export interface InferenceSettings {
  /** Host and port of the provider `mock-upstream`, which only `up` sets; null for the usual ones. */
  readonly mockUpstreamHost: string | null;
  /** 0 selects a free port; null when unset. */
  readonly port: number | null;
  /** Address at which clients reach inference, without a slash at its end; null when unset. */
  readonly publicUrl: string | null;
  readonly connectionsMax: number;
  readonly bodyBytesMax: number;
  /** Bound of all bodies in memory; null for a quarter of the memory that the process may use. */
  readonly bodiesBytesMax: number | null;
  readonly jsonBounds: { readonly valuesMax: number; readonly depthMax: number };
  /** Bounds of realtime sessions. */
  readonly realtime: {
    readonly sessionsMax: number;
    readonly sessionsOfKeyMax: number;
    readonly sessionMs: number;
    readonly idleMs: number;
    readonly messageBytesMax: number;
  };
  /** How long cached data stays valid while the database is unreachable. */
  readonly graceSeconds: number;
  /** False: limits are counted but reject no request. */
  readonly enforcesLimits: boolean;
  /** False: a stream without a usage report is charged everything that was reserved. */
  readonly countsAbortedStreams: boolean;
  /** Whether requests may refer to saved configs only. */
  readonly blocksInlineConfigs: boolean;
  /** Folder of the model for guardrails; null for none. */
  readonly guardrailModelFolder: string | null;
  /** Identity of the gateway at AWS. */
  readonly aws: AwsSettings;
  /** Identity of the pod at Azure; null for none. */
  readonly azurePod: AzureSettings | null;
  /** Whether secret references and integrations may use the identity of the gateway itself. */
  readonly signsInAsItself: boolean;
  /** In lower case, ending with a dash. */
  readonly headerAliases: readonly string[];
  /** Issuers of JWTs that are accepted instead of keys; null for none. */
  readonly tokens: TokenSettings | null;
  /** Trace collector; null when tracing is off. */
  readonly traces: TraceSettings | null;
  /** Retention in days of requests and hourly totals; null for unlimited. */
  readonly retention: {
    readonly logDays: number | null;
    readonly totalsDays: number | null;
    readonly responseDays: number;
    readonly threadDays: number;
  };
}

export interface TokenSettings {
  /** Addresses of key sets; `tsgId` is null for keys that are valid for every organisation. */
  readonly keySets: readonly { readonly url: string; readonly tsgId: string | null }[];
  readonly issuer: string | null;
  readonly audience: string | null;
  readonly clockToleranceSeconds: number;
  readonly defaultScopes: readonly string[];
}

const mebibyte = 1024 * 1024;

export function inferenceSettings(
  values: SettingValues,
  secretOf: ReturnType<typeof secretIn>,
): InferenceSettings {
  return {
    mockUpstreamHost: null,
    port: values.GATEWRIGHT_INFERENCE_PORT ?? null,
    publicUrl: values.GATEWRIGHT_INFERENCE_URL?.href.replace(/\/+$/, '') ?? null,
    connectionsMax: values.GATEWRIGHT_INFERENCE_CONNECTIONS_MAX,
    bodyBytesMax: values.GATEWRIGHT_INFERENCE_BODY_MIB_MAX * mebibyte,
    bodiesBytesMax: bytesOf(values.GATEWRIGHT_INFERENCE_BODIES_MIB_MAX),
    jsonBounds: {
      valuesMax: values.GATEWRIGHT_INFERENCE_JSON_VALUES_MAX,
      depthMax: values.GATEWRIGHT_INFERENCE_JSON_DEPTH_MAX,
    },
    realtime: {
      sessionsMax: values.GATEWRIGHT_REALTIME_SESSIONS_MAX,
      sessionsOfKeyMax: values.GATEWRIGHT_REALTIME_SESSIONS_OF_KEY_MAX,
      sessionMs: values.GATEWRIGHT_REALTIME_SESSION_SECONDS_MAX * 1_000,
      idleMs: values.GATEWRIGHT_REALTIME_IDLE_SECONDS * 1_000,
      messageBytesMax: values.GATEWRIGHT_REALTIME_MESSAGE_KIB_MAX * 1_024,
    },
    graceSeconds: values.GATEWRIGHT_INFERENCE_GRACE_SECONDS,
    enforcesLimits: values.GATEWRIGHT_LIMIT_ENFORCEMENT === 'hard',
    countsAbortedStreams: values.GATEWRIGHT_ABORTED_STREAM_CHARGE === 'counted',
    blocksInlineConfigs: values.BLOCK_INLINE_CONFIG,
    guardrailModelFolder: values.GATEWRIGHT_GUARDRAIL_MODEL_DIR ?? null,
    aws: awsSettings(values),
    azurePod: azureSettings(values),
    signsInAsItself: values.GATEWRIGHT_SECRETS_BY_OWN_IDENTITY,
    headerAliases: values.HEADER_ALIAS_PREFIXES,
    tokens: tokenSettings(values),
    traces: traceSettings(values, secretOf),
    retention: {
      responseDays: values.GATEWRIGHT_RESPONSE_RETENTION_DAYS,
      threadDays: values.GATEWRIGHT_THREAD_RETENTION_DAYS,
      logDays: values.LOG_RETENTION_ENFORCE ? values.LOG_RETENTION_DISPLAY : null,
      totalsDays: values.METRICS_RETENTION_ENFORCE ? values.METRICS_RETENTION_DISPLAY : null,
    },
  };
}

function bytesOf(mebibytes: number | undefined): number | null {
  return mebibytes === undefined ? null : mebibytes * mebibyte;
}

function tokenSettings(values: SettingValues): TokenSettings | null {
  const keySets = values.GATEWRIGHT_JWT_JWKS_URIS;
  if (keySets === undefined || values.JWT_ENABLED === false) return null;
  return {
    keySets,
    issuer: values.GATEWRIGHT_JWT_ISSUER ?? null,
    audience: values.GATEWRIGHT_JWT_AUDIENCE ?? null,
    clockToleranceSeconds: values.GATEWRIGHT_JWT_CLOCK_TOLERANCE_SECONDS,
    defaultScopes: values.JWT_LOCAL_AUTH_DEFAULT_SCOPES ?? [],
  };
}

/** Settings without effect unless GATEWRIGHT_JWT_JWKS_URIS is set. */
const tokenNames = [
  'GATEWRIGHT_JWT_ISSUER',
  'GATEWRIGHT_JWT_AUDIENCE',
  'GATEWRIGHT_JWT_CLOCK_TOLERANCE_SECONDS',
  'JWT_LOCAL_AUTH_DEFAULT_SCOPES',
] as const;

/** @param isGiven whether a setting is set, even if invalid */
export function tokenFaults(
  values: SettingValues,
  isGiven: (name: SettingName) => boolean,
): string[] {
  const trusted = values.TRUSTED_CUSTOM_HOSTS ?? [];
  if (isGiven('GATEWRIGHT_JWT_JWKS_URIS')) {
    return (values.GATEWRIGHT_JWT_JWKS_URIS ?? []).flatMap(({ url }) => {
      const fault = plainHttpFault(url, trusted);
      return fault === null ? [] : [`GATEWRIGHT_JWT_JWKS_URIS: ${url} ${fault}`];
    });
  }
  const idle: SettingName[] = tokenNames.filter(isGiven);
  if (values.JWT_ENABLED === true) idle.unshift('JWT_ENABLED');
  return idle.map(
    (name) =>
      `${name} is set, but has no effect without GATEWRIGHT_JWT_JWKS_URIS: set both or none`,
  );
}
