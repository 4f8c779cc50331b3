/** Knows the settings of the inference side as a group. */
import type { secretIn } from '../reading/secrets.ts';
import type { Name, Values } from '../variables/variables.ts';
import { type TraceSettings, traceSettings } from './traces.ts';

export interface InferenceSettings {
  /** 0 takes a free one; null when unset. */
  readonly port: number | null;
  readonly connectionsMax: number;
  readonly bodyBytesMax: number;
  /** How long what is cached stays good while the database is away. */
  readonly graceSeconds: number;
  /** False: limits count, and refuse nothing. */
  readonly enforcesLimits: boolean;
  /** Requests may name saved configs only. */
  readonly blocksInlineConfigs: boolean;
  /** Secret references may sign in as the gateway itself. */
  readonly signsInAsItself: boolean;
  /** In lower case, with a dash at the end. */
  readonly headerAliases: readonly string[];
  /** Whose JWTs are taken in place of keys; null for nobody's. */
  readonly tokens: TokenSettings | null;
  /** Where traces go; null where none are recorded. */
  readonly traces: TraceSettings | null;
  /** Days that requests, and their hourly totals, are kept; null where none is deleted. */
  readonly retention: {
    readonly logDays: number | null;
    readonly totalsDays: number | null;
    readonly responseDays: number;
    readonly threadDays: number;
  };
}

export interface TokenSettings {
  /** Where keys are published; `tsgId` is null where they are good for every organisation. */
  readonly keySets: readonly { readonly url: string; readonly tsgId: string | null }[];
  readonly issuer: string | null;
  readonly audience: string | null;
  readonly clockToleranceSeconds: number;
  readonly defaultScopes: readonly string[];
}

const mebibyte = 1024 * 1024;

export function inferenceSettings(
  values: Values,
  secretOf: ReturnType<typeof secretIn>,
): InferenceSettings {
  return {
    port: values.GATEWRIGHT_INFERENCE_PORT ?? null,
    connectionsMax: values.GATEWRIGHT_INFERENCE_CONNECTIONS_MAX,
    bodyBytesMax: values.GATEWRIGHT_INFERENCE_BODY_MIB_MAX * mebibyte,
    graceSeconds: values.GATEWRIGHT_INFERENCE_GRACE_SECONDS,
    enforcesLimits: values.GATEWRIGHT_LIMIT_ENFORCEMENT === 'hard',
    blocksInlineConfigs: values.BLOCK_INLINE_CONFIG,
    signsInAsItself: values.GATEWRIGHT_SECRETS_BY_OWN_IDENTITY,
    headerAliases: values.HEADER_ALIAS_PREFIXES ?? [],
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

function tokenSettings(values: Values): TokenSettings | null {
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

/** What of tokens does nothing without the address of their keys. */
const ofTokens = [
  'GATEWRIGHT_JWT_ISSUER',
  'GATEWRIGHT_JWT_AUDIENCE',
  'GATEWRIGHT_JWT_CLOCK_TOLERANCE_SECONDS',
  'JWT_LOCAL_AUTH_DEFAULT_SCOPES',
] as const;

/** @param isGiven whether a setting is set, be it wrongly */
export function tokenFaults(values: Values, isGiven: (name: Name) => boolean): string[] {
  if (isGiven('GATEWRIGHT_JWT_JWKS_URIS')) return [];
  const idle: Name[] = ofTokens.filter(isGiven);
  if (values.JWT_ENABLED === true) idle.unshift('JWT_ENABLED');
  return idle.map(
    (name) => `${name} is set, but does nothing without GATEWRIGHT_JWT_JWKS_URIS: set both or none`,
  );
}
