/** Knows an API key as the gateway uses it: what it may, where it belongs, and what its requests start from. */
import { hash } from 'node:crypto';
import type { RateLimit } from '../../model/limits/limits.ts';
import { isWellFormedApiKey } from '../../model/people/credentials.ts';
import { readDocument } from '../../model/wire/json-record.ts';
import type { WorkspaceDefaults } from '../../model/workspaces/workspace.ts';
import type { Database } from '../../store/connection/db.ts';
import * as gatewayReads from '../../store/reads/gateway-reads.ts';
import * as apiKeys from '../../store/resources/api-keys.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';
import { type DefaultGuardrails, defaultGuardrails } from './default-guardrails.ts';
import { type LimitTerms, limitedSubjects, noTerms, readTerms } from './limit-terms.ts';
import type { SnapshotCache, SnapshotEntry } from './snapshot-cache.ts';

export interface GatewayKey {
  /** A token acts as a key of its workspace that nobody has made. */
  readonly kind: 'api_key' | 'token';
  readonly id: string;
  readonly name: string;
  readonly organisationId: string;
  /** The user whose own it is; null for a key of nobody in person, which may name somebody, too. */
  readonly personId: string | null;
  readonly status: 'active' | 'expired';
  readonly scopes: readonly string[];
  /** When the key ends, or this value of it, whichever is first; ms since the epoch. */
  readonly endsAtMs: number | null;
  readonly rateLimits: readonly RateLimit[] | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly configId: string | null;
  readonly allowsConfigOverride: boolean;
  readonly workspace: GatewayWorkspace | null;
  readonly guardrails: DefaultGuardrails;
  /** Budgets and rate limits of the key and of its workspace. */
  readonly terms: LimitTerms;
  /** When its last use was written down; changes as it is. */
  lastUsedAtMs: number | null;
}

export interface GatewayWorkspace {
  readonly id: string;
  readonly slug: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly rateLimits: unknown;
  /** What holds for keys and tokens that say nothing of it themselves. */
  readonly allowsConfigOverride: boolean;
}

export interface GatewayKeysOptions {
  readonly database: Pick<Database, 'readable' | 'db'>;
  /** Digest by which the database knows a value. */
  readonly hashCredential: (value: string) => Buffer;
  readonly fresh: SnapshotCache<GatewayKey>;
}

/** How long the digest of a good value is remembered, and how many are. */
const shownMs = 1_000;
const shownMax = 1_000;

export class GatewayKeys {
  readonly #options: GatewayKeysOptions;
  /**
   * Of values that were good of late: one that is sent over and over is hashed once a second. They lie here
   * no longer than what is left of the headers they came in, which nobody wipes out either.
   */
  readonly #shown = new Map<string, string>();
  #shownSince = 0;

  constructor(options: GatewayKeysOptions) {
    this.#options = options;
  }

  /** The key of a value; at once where it is known, or no key at all, and undefined for nobody's. */
  find(value: string, now: number): GatewayKey | undefined | Promise<GatewayKey | undefined> {
    const { fresh } = this.#options;
    // Kept for long is the digest only, so that nothing in memory shows all values.
    const remembered = this.#rememberedOf(value, now);
    const digest = remembered ?? hash('sha256', value, 'base64url');
    const known = fresh.peek(digest);
    if (known !== undefined) {
      if (remembered === undefined) this.#shown.set(value, digest);
      return known;
    }
    // A mistyped or foreign one costs no look-up.
    if (!isWellFormedApiKey(value)) return undefined;
    return fresh.get(digest, () => this.#load(value, now));
  }

  #rememberedOf(value: string, now: number): string | undefined {
    const isOver = Math.abs(now - this.#shownSince) > shownMs;
    if (!isOver && this.#shown.size < shownMax) return this.#shown.get(value);
    this.#shown.clear();
    this.#shownSince = now;
    return undefined;
  }

  /** Without its value, as of one who asked before. */
  async findById(organisationId: string, id: string): Promise<GatewayKey | undefined> {
    const row = await gatewayReads.findKey(this.#options.database.readable, organisationId, id);
    if (row === undefined) return undefined;
    const key = keyOf(row, null);
    return { ...key, terms: await this.#termsOf(row, key) };
  }

  /** Not waited for, and no reason to refuse. */
  noteUse(key: GatewayKey, now: number): void {
    if (key.kind === 'token') return;
    if (!apiKeys.isUseNews({ last_used_at: key.lastUsedAtMs }, now)) return;
    key.lastUsedAtMs = now;
    const place = { organisation_id: key.organisationId, id: key.id };
    apiKeys.updateLastUsed(this.#options.database.db, place, now).catch(() => undefined);
  }

  async #load(value: string, now: number): Promise<SnapshotEntry<GatewayKey> | undefined> {
    const { database, hashCredential } = this.#options;
    const db = database.readable;
    const held = await gatewayReads.findHolder(db, hashCredential(value), now);
    if (held === undefined) return undefined;
    const row = await gatewayReads.findKey(db, held.organisation_id, held.api_key_id);
    if (row === undefined) return undefined;
    const { organisation_id: organisationId, generation } = row;
    const key = keyOf(row, held.valid_until);
    const terms = await this.#termsOf(row, key);
    return { organisationId, generation, value: { ...key, terms } };
  }

  /** Nothing is asked for a key without limits, of which there are many. */
  #termsOf(row: gatewayReads.GatewayKeyRow, key: Omit<GatewayKey, 'terms'>): Promise<LimitTerms> {
    const isLimited = [
      ...[row.usage_limits, row.rate_limits],
      ...[row.workspace_usage_limits, row.workspace_rate_limits],
    ].some((limits) => limits !== null);
    if (!isLimited) return Promise.resolve(noTerms);
    const subjects = limitedSubjects(key, key.workspace);
    return readTerms(this.#options.database.readable, key.organisationId, subjects);
  }
}

function keyOf(
  row: gatewayReads.GatewayKeyRow,
  validUntil: number | null,
): Omit<GatewayKey, 'terms'> {
  const workspace = workspaceOfKey(row);
  const { allow_config_override: own } = row;
  return {
    ...{ kind: 'api_key', id: row.id, name: row.name },
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

/** What the workspace puts before requests of its people's keys. */
function configOfPeople(row: gatewayReads.GatewayKeyRow): string | null {
  if (row.type !== 'workspace-user') return null;
  const defaults = readDocument<WorkspaceDefaults>(row.workspace_defaults);
  return defaults?.user_api_key_config ?? null;
}

function workspaceOfKey(row: gatewayReads.GatewayKeyRow): GatewayWorkspace | null {
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

function guardrailsOfKey(row: gatewayReads.GatewayKeyRow): DefaultGuardrails {
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
