/** Reads of the gateway, each with the generation of its organisation at the time of the read. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { statement } from '../connection/statement.ts';
import type { ApiKeyRow } from '../resources/api-keys.ts';
import * as guardrailExclusions from '../resources/guardrail-exclusions.ts';
import * as organisationDefaults from '../resources/organisation-defaults.ts';
import * as organisations from '../resources/organisations.ts';
import {
  listReached,
  listSlugs,
  type ProviderSlug,
  type ReachedProvider,
} from '../resources/providers.ts';
import * as rateLimitPolicies from '../resources/rate-limit-policies.ts';
import * as usageLimitPolicies from '../resources/usage-limit-policies.ts';
import type { StoredWorkspace } from '../resources/workspaces.ts';
import * as workspaces from '../resources/workspaces.ts';
import { readReference } from '../rows/references.ts';
import { rows } from '../rows/rows.ts';
import { generationOf, listGenerations } from '../rows/snapshot-marks.ts';
import { databasePrompts, findRenderable, type RenderablePrompt } from './prompt-reads.ts';

/** The API key of a value, and when the value expires. */
export interface ApiKeyHolder {
  readonly organisation_id: string;
  readonly api_key_id: string;
  readonly valid_until: number | null;
}

export interface GatewayKeyRow
  extends Pick<
    ApiKeyRow,
    | 'organisation_id'
    | 'id'
    | 'name'
    | 'type'
    | 'status'
    | 'workspace_id'
    | 'user_id'
    | 'scopes'
    | 'rate_limits'
    | 'usage_limits'
    | 'metadata'
    | 'config_id'
    | 'allow_config_override'
    | 'expires_at'
    | 'last_used_at'
  > {
  workspace_slug: string | null;
  workspace_status: string | null;
  workspace_defaults: string | null;
  workspace_usage_limits: string | null;
  workspace_rate_limits: string | null;
  /** JSON lists of the organisation's guardrail ids, null for none, regardless of the workspace's exemption. */
  default_input_guardrails: string | null;
  default_output_guardrails: string | null;
  workspace_excludes_input: number | null;
  workspace_excludes_output: number | null;
  /** The organisation's generation at the time of the read. */
  generation: string;
}

const byHash = statement((db, { hash, now }: { hash: Buffer; now: number }) =>
  db
    .selectFrom('api_key_hashes')
    .select(['organisation_id', 'api_key_id', 'valid_until'])
    .where('hash', '=', hash)
    .where((eb) => eb.or([eb('valid_until', 'is', null), eb('valid_until', '>', now)])),
);

/** The key with a value, in any organisation: the value itself determines the tenant. */
export function findHolder(db: Db, hash: Buffer, now: number): Promise<ApiKeyHolder | undefined> {
  return byHash.first(db, { hash, now });
}

const keyById = statement((db, { organisationId, id }: { organisationId: string; id: string }) =>
  db
    .selectFrom('api_keys as k')
    .leftJoin('workspaces as w', (join) =>
      join
        .onRef('w.organisation_id', '=', 'k.organisation_id')
        .onRef('w.id', '=', 'k.workspace_id'),
    )
    .leftJoin('organisation_defaults as d', 'd.organisation_id', 'k.organisation_id')
    .leftJoin('guardrail_exclusions as e', (join) =>
      join
        .onRef('e.organisation_id', '=', 'k.organisation_id')
        .onRef('e.workspace_id', '=', 'k.workspace_id'),
    )
    .select(['k.organisation_id', 'k.id', 'k.name', 'k.type', 'k.status', 'k.workspace_id'])
    .select(['k.user_id', 'k.scopes', 'k.rate_limits', 'k.usage_limits', 'k.metadata'])
    .select(['k.config_id', 'k.allow_config_override', 'k.expires_at', 'k.last_used_at'])
    .select([
      'w.slug as workspace_slug',
      'w.status as workspace_status',
      'w.defaults as workspace_defaults',
      'w.usage_limits as workspace_usage_limits',
      'w.rate_limits as workspace_rate_limits',
      'e.input_guardrails as workspace_excludes_input',
      'e.output_guardrails as workspace_excludes_output',
      'd.input_guardrails as default_input_guardrails',
      'd.output_guardrails as default_output_guardrails',
    ])
    .select(generationOf(sql.ref('k.organisation_id')).as('generation'))
    .where('k.organisation_id', '=', organisationId)
    .where('k.id', '=', id),
);

/** A key with its workspace. */
export function findKey(
  db: Db,
  organisationId: string,
  id: string,
): Promise<GatewayKeyRow | undefined> {
  return keyById.first(db, { organisationId, id });
}

/** A workspace as gateways read it. */
export type GatewayWorkspaceRow = Pick<
  StoredWorkspace,
  | 'id'
  | 'slug'
  | 'name'
  | 'defaults'
  | 'usage_limits'
  | 'rate_limits'
  | 'status'
  | 'security_settings'
>;

/** The workspace that a token names, with its organisation. */
export interface TokenWorkspaceRow {
  readonly organisationId: string;
  readonly tsgId: string;
  readonly workspace: GatewayWorkspaceRow;
  readonly defaults: organisationDefaults.StoredDefaults;
  /** The workspace's exemption from the defaults. */
  readonly exclusion: guardrailExclusions.StoredGuardrailExclusion | undefined;
  readonly generation: string;
}

/**
 * `organisation` is an id or a TSG id, `workspace` an id or slug. The generation is read first, so that it
 * is never newer than the rows.
 */
export async function findTokenWorkspace(
  db: Db,
  organisation: string,
  workspace: string,
): Promise<TokenWorkspaceRow | undefined> {
  const isTsg = /^\d{10}$/.test(organisation);
  const found = await (isTsg ? organisations.findByTsgId : organisations.findById)(
    db,
    organisation,
  );
  if (found === undefined) return undefined;
  const { id: organisationId, tsg_id: tsgId } = found;
  const generations = await listGenerations(db, [organisationId]);
  const row = await workspaces.findByIdOrSlug(db, organisationId, workspace);
  if (row === undefined) return undefined;
  const defaults = await organisationDefaults.find(db, organisationId);
  const exclusion = await guardrailExclusions.findByWorkspace(db, organisationId, row.id);
  const generation = generations.get(organisationId)!;
  return { organisationId, tsgId, workspace: row, defaults, exclusion, generation };
}

export interface GatewayConfigRow {
  id: string;
  workspace_id: string | null;
  status: string;
  config: string;
  version_id: string;
  generation: string;
}

const configBy = (column: 'id' | 'slug') =>
  statement((db, { organisationId, value }: { organisationId: string; value: string }) =>
    db
      .selectFrom('configs as c')
      .select(['c.id', 'c.workspace_id', 'c.status', 'c.config', 'c.version_id'])
      .select(generationOf(sql.ref('c.organisation_id')).as('generation'))
      .where('c.organisation_id', '=', organisationId)
      .where(`c.${column}`, '=', value),
  );
const configsBy = { id: configBy('id'), slug: configBy('slug') };

/** A config by its id or slug. */
export function findConfig(
  db: Db,
  organisationId: string,
  reference: string,
): Promise<GatewayConfigRow | undefined> {
  const { column, value } = readReference(reference);
  return configsBy[column].first(db, { organisationId, value });
}

export interface GatewayGuardrailRow {
  id: string;
  slug: string;
  workspace_id: string | null;
  status: string;
  target: string;
  checks: string;
  actions: string | null;
  generation: string;
}

const guardrailBy = (column: 'id' | 'slug') =>
  statement((db, { organisationId, value }: { organisationId: string; value: string }) =>
    db
      .selectFrom('guardrails as g')
      .select(['g.id', 'g.slug', 'g.workspace_id', 'g.status', 'g.target', 'g.checks', 'g.actions'])
      .select(generationOf(sql.ref('g.organisation_id')).as('generation'))
      .where('g.organisation_id', '=', organisationId)
      .where(`g.${column}`, '=', value),
  );
const guardrailsBy = { id: guardrailBy('id'), slug: guardrailBy('slug') };

/** A guardrail by its id or slug. */
export function findGuardrail(
  db: Db,
  organisationId: string,
  reference: string,
): Promise<GatewayGuardrailRow | undefined> {
  const { column, value } = readReference(reference);
  return guardrailsBy[column].first(db, { organisationId, value });
}

/** Budgets of keys, workspaces and providers by their ids. */
export const listBudgets = rows('usage_budgets').listBy(['organisation_id', 'subject_id']);

/** Policies as gateways read them. */
export type UsagePolicyRow = Omit<usageLimitPolicies.StoredUsageLimitPolicy, 'description'>;
export type RatePolicyRow = Omit<rateLimitPolicies.StoredRateLimitPolicy, 'description'>;

/** Policies of an organisation. */
export interface GatewayPolicies {
  readonly generation: string;
  readonly usageLimits: readonly UsagePolicyRow[];
  readonly rateLimits: readonly RatePolicyRow[];
}

/** The policies of an organisation. The generation is read first, so that it is never newer than the rows. */
export async function listGatewayPolicies(
  db: Db,
  organisationId: string,
): Promise<GatewayPolicies> {
  const generations = await listGenerations(db, [organisationId]);
  const usageLimits = await usageLimitPolicies.listAllForOrganisation(db, organisationId);
  const rateLimits = await rateLimitPolicies.listAllForOrganisation(db, organisationId);
  return { generation: generations.get(organisationId)!, usageLimits, rateLimits };
}

export interface ReadProviders {
  readonly generation: string;
  readonly providers: readonly ReachedProvider[];
}

/** Up to two providers by id or slug. The generation is read first, so that it is never newer than the rows. */
export async function listProviders(
  db: Db,
  organisationId: string,
  workspaceId: string | null,
  reference: string,
): Promise<ReadProviders> {
  const generations = await listGenerations(db, [organisationId]);
  const found = await listReached(db, organisationId, workspaceId, reference);
  return { generation: generations.get(organisationId)!, providers: found };
}

export interface ReadSlugs {
  readonly generation: string;
  readonly providers: readonly ProviderSlug[];
}

/** Ids and slugs of the providers of one workspace or (null) of all. The generation is read first. */
export async function listSlugsOfProviders(
  db: Db,
  organisationId: string,
  workspaceId: string | null,
): Promise<ReadSlugs> {
  const generations = await listGenerations(db, [organisationId]);
  const providers = await listSlugs(db, organisationId, workspaceId);
  return { generation: generations.get(organisationId)!, providers };
}

export interface ReadPrompt {
  readonly generation: string;
  readonly prompt: RenderablePrompt;
}

/** A prompt with its partials. The generation is read first, so that it is never newer than the rows. */
export async function findPrompt(
  db: Db,
  organisationId: string,
  reference: string,
): Promise<ReadPrompt | undefined> {
  const generations = await listGenerations(db, [organisationId]);
  const prompt = await findRenderable(databasePrompts(db, organisationId), reference);
  return prompt && { generation: generations.get(organisationId)!, prompt };
}
