/** Looks up API keys and builds what the gateway needs of them: scopes, tenant, limits and defaults. */
import { hash } from 'node:crypto';
import type { RateLimit } from '../../model/limits/limits.ts';
import { isWellFormedApiKey, timeOfApiKey } from '../../model/people/credentials.ts';
import { readDocument } from '../../model/wire/json-record.ts';
import type { WorkspaceDefaults } from '../../model/workspaces/workspace.ts';
import type { ConfigurationReads } from '../../store/reads/configuration-reads.ts';
import type { GatewayKeyRow } from '../../store/reads/gateway-reads.ts';
import type { GatewayRecords } from '../../store/records/gateway-records.ts';
import * as apiKeys from '../../store/resources/api-keys.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';
import { type DefaultGuardrails, defaultGuardrails } from './default-guardrails.ts';
import { type LimitTerms, limitedSubjects, noTerms, readTerms } from './limit-terms.ts';
import type { SnapshotCache, SnapshotEntry } from './snapshot-cache.ts';

export interface GatewayKey {
  /** A token acts as a key of its workspace. */
  readonly kind: 'api_key' | 'token';
  readonly id: string;
  readonly name: string;
  readonly organisationId: string;
  /** The user that owns the key; null for a key without an owner, even if it names a user. */
  readonly personId: string | null;
  readonly status: 'active' | 'expired';
  readonly scopes: readonly string[];
  /** When the key or this value of it expires, whichever is first; milliseconds since the epoch. */
  readonly endsAtMs: number | null;
  readonly rateLimits: readonly RateLimit[] | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly configId: string | null;
  readonly allowsConfigOverride: boolean;
  readonly workspace: GatewayWorkspace | null;
  readonly guardrails: DefaultGuardrails;
  /** Budgets and rate limits of the key and of its workspace. */
  readonly terms: LimitTerms;
  /** When its last use was stored; updated in place. */
  lastUsedAtMs: number | null;
}

export interface GatewayWorkspace {
  readonly id: string;
  readonly slug: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly rateLimits: unknown;
  /** Default for keys and tokens without a setting of their own. */
  readonly allowsConfigOverride: boolean;
}

export interface GatewayKeysOptions {
  readonly records: Pick<GatewayRecords, 'storeKeyUse'>;
  readonly reads: Pick<ConfigurationReads, 'findHolder' | 'findKey' | 'listBudgets'>;
  /** Computes the digest that the database stores. */
  readonly hashCredential: (value: string) => Buffer;
  readonly cache: SnapshotCache<GatewayKey>;
}

/** How long the digest of a valid value is cached, and how many are. */
const digestCacheMs = 1_000;
const digestCacheMax = 1_000;

export class GatewayKeys {
  readonly #options: GatewayKeysOptions;
  /**
   * Digests of recently valid values, so that a value that is sent repeatedly is hashed once a second. The values
   * stay in memory no longer than the headers they arrived in.
   */
  readonly #digests = new Map<string, string>();
  #digestsSince = 0;

  constructor(options: GatewayKeysOptions) {
    this.#options = options;
  }

  /** Finds the key of a value, synchronously if cached or malformed; undefined when there is none. */
  find(value: string, now: number): GatewayKey | undefined | Promise<GatewayKey | undefined> {
    const { cache } = this.#options;
    // Only digests are cached for long, so that memory does not contain all values.
    const cachedDigest = this.#cachedDigestOf(value, now);
    const digest = cachedDigest ?? hash('sha256', value, 'base64url');
    const cached = cache.peek(digest);
    if (cached !== undefined) {
      if (cachedDigest === undefined) this.#digests.set(value, digest);
      return cached;
    }
    // A malformed value needs no query.
    if (!isWellFormedApiKey(value)) return undefined;
    return cache.get(digest, () => this.#load(value, now));
  }

  #cachedDigestOf(value: string, now: number): string | undefined {
    const isOver = Math.abs(now - this.#digestsSince) > digestCacheMs;
    if (!isOver && this.#digests.size < digestCacheMax) return this.#digests.get(value);
    this.#digests.clear();
    this.#digestsSince = now;
    return undefined;
  }

  /** Finds a key without its value, for a caller that was stored earlier. */
  async findById(organisationId: string, id: string): Promise<GatewayKey | undefined> {
    const row = await this.#options.reads.findKey(organisationId, id);
    if (row === undefined) return undefined;
    const key = keyOf(row, null);
    return { ...key, terms: await this.#termsOf(row, key) };
  }

  /** Stores the last use; not awaited, and errors are ignored. */
  noteUse(key: GatewayKey, now: number): void {
    if (key.kind === 'token') return;
    if (!apiKeys.isUseNews({ last_used_at: key.lastUsedAtMs }, now)) return;
    key.lastUsedAtMs = now;
    const { organisationId, id: keyId } = key;
    this.#options.records.storeKeyUse({ organisationId, keyId }, now).catch(() => undefined);
  }

  async #load(value: string, now: number): Promise<SnapshotEntry<GatewayKey> | undefined> {
    const { reads, hashCredential } = this.#options;
    const held = await reads.findHolder(hashCredential(value), now, timeOfApiKey(value));
    if (held === undefined) return undefined;
    const row = await reads.findKey(held.organisation_id, held.api_key_id);
    if (row === undefined) return undefined;
    const { organisation_id: organisationId, generation } = row;
    const key = keyOf(row, held.valid_until);
    const terms = await this.#termsOf(row, key);
    return { organisationId, generation, value: { ...key, terms } };
  }

  /** Queries nothing for a key without limits, which is common. */
  #termsOf(row: GatewayKeyRow, key: Omit<GatewayKey, 'terms'>): Promise<LimitTerms> {
    const isLimited = [
      row.usage_limits,
      row.rate_limits,
      row.workspace_usage_limits,
      row.workspace_rate_limits,
    ].some((limits) => limits !== null);
    if (!isLimited) return Promise.resolve(noTerms);
    const subjects = limitedSubjects(key, key.workspace);
    return readTerms(this.#options.reads, key.organisationId, subjects);
  }
}

function keyOf(row: GatewayKeyRow, validUntil: number | null): Omit<GatewayKey, 'terms'> {
  const workspace = workspaceOfKey(row);
  const { allow_config_override: own } = row;
  return {
    kind: 'api_key',
    id: row.id,
    name: row.name,
    organisationId: row.organisation_id,
    personId: apiKeys.personOf(row),
    status: row.status,
    scopes: JSON.parse(row.scopes) as string[],
    endsAtMs: earlier(row.expires_at, validUntil),
    rateLimits: readDocument<RateLimit[]>(row.rate_limits),
    metadata: readDocument<Record<string, unknown>>(row.metadata) ?? {},
    configId: row.config_id ?? configOfPeople(row),
    allowsConfigOverride: own === null ? (workspace?.allowsConfigOverride ?? true) : own !== 0,
    workspace,
    guardrails: guardrailsOfKey(row),
    lastUsedAtMs: row.last_used_at,
  };
}

/** The default config that the workspace sets for user keys. */
function configOfPeople(row: GatewayKeyRow): string | null {
  if (row.type !== 'workspace-user') return null;
  const defaults = readDocument<WorkspaceDefaults>(row.workspace_defaults);
  return defaults?.user_api_key_config ?? null;
}

function workspaceOfKey(row: GatewayKeyRow): GatewayWorkspace | null {
  if (row.workspace_id === null) return null;
  return workspaceOf({
    id: row.workspace_id,
    slug: row.workspace_slug ?? '',
    defaults: row.workspace_defaults,
    rate_limits: row.workspace_rate_limits,
  });
}

export function workspaceOf(
  row: Pick<StoredWorkspace, 'id' | 'slug' | 'defaults' | 'rate_limits'>,
): GatewayWorkspace {
  const defaults = readDocument<WorkspaceDefaults>(row.defaults) ?? {};
  return {
    id: row.id,
    slug: row.slug,
    metadata: defaults.metadata ?? {},
    rateLimits: readDocument<unknown>(row.rate_limits),
    allowsConfigOverride: defaults.allow_config_override ?? true,
  };
}

function guardrailsOfKey(row: GatewayKeyRow): DefaultGuardrails {
  const everywhere = {
    input_guardrails: row.default_input_guardrails ?? '[]',
    output_guardrails: row.default_output_guardrails ?? '[]',
  };
  const workspace = row.workspace_id === null ? null : { defaults: row.workspace_defaults };
  return defaultGuardrails(everywhere, workspace, {
    input_guardrails: row.workspace_excludes_input ?? 0,
    output_guardrails: row.workspace_excludes_output ?? 0,
  });
}

function earlier(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}
