/** Checks rules between tables that the schema does not enforce: references, claims, counters and defaults. */
import { type RawBuilder, sql } from 'kysely';
import { type KindName, kindNames } from '../model/kinds/kinds.ts';
import type { Database, Db } from './connection/db.ts';
import { readConsistently } from './consistent-read.ts';
import { bytesOfId } from './rows/portable-sql.ts';

/** A row that violates a rule. */
export interface Inconsistency {
  readonly organisationId: string;
  readonly table: string;
  /** Id of the row, or of its subject. */
  readonly id: string;
  /** Such as `refers in workspace_id to a missing row of workspaces: 018f…`. */
  readonly fault: string;
}

export interface ConsistencyReport {
  /** Number of rules checked. */
  readonly rules: number;
  /** At most {@link foundMax} for each rule. */
  readonly found: readonly Inconsistency[];
}

const foundMax = 100;

/** One rule; `broken` selects `organisation_id`, `id` and `detail` of the violating rows. */
interface Rule {
  readonly table: string;
  readonly fault: string;
  readonly broken: RawBuilder<Row>;
}

interface Row {
  organisation_id: string;
  id: string;
  detail: string | null;
}

/** Checks every rule on one consistent snapshot, read-only. */
export async function checkConsistency(database: Pick<Database, 'db'>): Promise<ConsistencyReport> {
  const found = await readConsistently(database.db, async (tx) => {
    const all: Inconsistency[] = [];
    for (const rule of rules) all.push(...(await breaches(tx, rule)));
    return all;
  });
  return { rules: rules.length, found };
}

async function breaches(tx: Db, { table, fault, broken }: Rule): Promise<Inconsistency[]> {
  const { rows } = await sql<Row>`${broken} LIMIT ${sql.lit(foundMax)}`.execute(tx);
  return rows.map(({ organisation_id, id, detail }) => ({
    organisationId: organisation_id,
    table,
    id,
    fault: detail === null ? fault : `${fault}: ${detail}`,
  }));
}

/** The table of each kind. */
const tableOfKind: Readonly<Record<KindName, string>> = {
  Workspace: 'workspaces',
  Guardrail: 'guardrails',
  Config: 'configs',
  ApiKey: 'api_keys',
  SecretReference: 'secret_references',
  McpIntegration: 'mcp_integrations',
  McpServer: 'mcp_servers',
  GuardrailMcpBinding: 'guardrail_mcp_mappings',
  UsageLimitPolicy: 'usage_limit_policies',
  RateLimitPolicy: 'rate_limit_policies',
  Integration: 'integrations',
  Provider: 'providers',
  PromptLabel: 'prompt_labels',
  PromptCollection: 'prompt_collections',
  PromptPartial: 'prompt_partials',
  Prompt: 'prompts',
  OrganisationDefaults: 'organisation_defaults',
  GuardrailExclusion: 'guardrail_exclusions',
  WorkspaceGuardrails: 'workspaces',
  Deployment: 'gateway_deployments',
  ScimMapping: 'scim_mappings',
  ServiceAccount: 'service_account_profiles',
  TenantServiceGroup: 'child_tsgs',
};

/** The table of each kind of counter subject. */
const subjectTables = {
  api_key: 'api_keys',
  workspace: 'workspaces',
  provider: 'providers',
  integration_workspace: 'integration_workspaces',
  integration: 'integrations',
  policy: 'usage_limit_policies',
} as const;

const ofOwners = ['sync_status', 'sync_sources', 'sync_revisions', 'sync_suspensions'];
const inWorkspace = [
  'api_keys',
  'configs',
  'guardrails',
  'mcp_integrations',
  'mcp_servers',
  'integrations',
  'integration_workspaces',
  'mcp_integration_workspaces',
  'providers',
  'prompt_labels',
  'prompt_collections',
  'prompt_partials',
  'prompts',
  'guardrail_exclusions',
  'service_account_profiles',
];
/** Kinds of subjects with budgets. */
const budgeted = [
  'api_key',
  'workspace',
  'provider',
  'integration_workspace',
  'integration',
] as const;

/** Table, referring column, target table, and the column that identifies the row. */
const ofPeople = [
  ['workspace_members', 'workspace_id', 'workspaces', 'user_id'],
  ['workspace_members', 'user_id', 'users', 'user_id'],
  ['scim_group_members', 'group_id', 'scim_groups', 'user_id'],
  ['scim_group_members', 'user_id', 'users', 'user_id'],
  ['scim_mappings', 'group_id', 'scim_groups', 'id'],
  ['scim_mappings', 'workspace_id', 'workspaces', 'id'],
  ['mcp_server_users', 'user_id', 'users', 'user_id'],
  ['mcp_server_users', 'mcp_server_id', 'mcp_servers', 'user_id'],
  ['mcp_server_capabilities', 'mcp_server_id', 'mcp_servers', 'mcp_server_id'],
  ['mcp_connections', 'mcp_server_id', 'mcp_servers', 'user_id'],
  ['mcp_definitions', 'mcp_integration_id', 'mcp_integrations', 'mcp_integration_id'],
  ['mcp_authorizations', 'mcp_server_id', 'mcp_servers', 'user_id'],
  ['mcp_oauth_clients', 'mcp_integration_id', 'mcp_integrations', 'mcp_integration_id'],
  ['mcp_metadata', 'mcp_integration_id', 'mcp_integrations', 'mcp_integration_id'],
] as const;

const rules: readonly Rule[] = [
  ...inWorkspace.map((table) => reference(table, 'workspace_id', 'workspaces')),
  reference('api_keys', 'config_id', 'configs'),
  ...ofPeople.map(([table, column, target, named]) => ({
    table,
    fault: `refers in ${column} to a missing row of ${target}`,
    broken: missing(table, column, target, { id: sql.ref(`referring.${named}`) }),
  })),
  allowedSecret('workspace_id', 'workspaces'),
  allowedSecret('secret_reference_id', 'secret_references'),
  reference('mcp_servers', 'mcp_integration_id', 'mcp_integrations'),
  reference('integration_workspaces', 'integration_id', 'integrations'),
  reference('providers', 'integration_id', 'integrations'),
  reference('mcp_integration_workspaces', 'mcp_integration_id', 'mcp_integrations'),
  reference('mcp_capabilities', 'mcp_integration_id', 'mcp_integrations'),
  reference('guardrail_mcp_mappings', 'guardrail_id', 'guardrails'),
  reference('guardrail_mcp_mappings', 'mcp_server_id', 'mcp_servers'),
  versions('config_versions', 'configs'),
  versions('guardrail_versions', 'guardrails'),
  reference('prompts', 'collection_id', 'prompt_collections'),
  reference('prompt_collections', 'parent_collection_id', 'prompt_collections'),
  {
    table: 'prompt_versions',
    fault: 'is a version of a missing prompt or partial',
    broken: sql`SELECT versions.organisation_id, LOWER(HEX(versions.id)) AS id,
        LOWER(HEX(versions.resource_id)) AS detail
      FROM prompt_versions AS versions
      LEFT JOIN prompts ON prompts.organisation_id = versions.organisation_id
        AND ${bytesOfId(sql.ref('prompts.id'))} = versions.resource_id
      LEFT JOIN prompt_partials ON prompt_partials.organisation_id = versions.organisation_id
        AND ${bytesOfId(sql.ref('prompt_partials.id'))} = versions.resource_id
      WHERE prompts.id IS NULL AND prompt_partials.id IS NULL`,
  },
  {
    table: 'prompt_versions',
    fault: 'refers to a missing row of prompt_labels',
    broken: missing('prompt_versions', 'label_id', 'prompt_labels', {
      id: sql`LOWER(HEX(referring.id))`,
    }),
  },
  ...['usage_limit_policies', 'rate_limit_policies'].map((table) => ({
    table,
    fault: 'is active in a missing workspace',
    broken: missing(table, 'workspace_id', 'workspaces', {
      where: sql`referring.status = 'active'`,
    }),
  })),
  {
    table: 'api_key_hashes',
    fault: 'is the value of a missing API key',
    broken: missing('api_key_hashes', 'api_key_id', 'api_keys', { id: sql`referring.api_key_id` }),
  },
  {
    table: 'api_keys',
    fault: 'has no value and cannot be used',
    broken: sql`SELECT keys_.organisation_id, keys_.id, NULL AS detail FROM api_keys AS keys_
      LEFT JOIN api_key_hashes AS hashes ON hashes.organisation_id = keys_.organisation_id
        AND hashes.api_key_id = keys_.id AND hashes.valid_until IS NULL
      WHERE hashes.hash IS NULL`,
  },
  {
    table: 'api_key_hashes',
    fault: 'are more than two values of one API key',
    broken: sql`SELECT organisation_id, api_key_id AS id, NULL AS detail FROM api_key_hashes
      GROUP BY organisation_id, api_key_id HAVING COUNT(*) > 2`,
  },
  {
    table: 'configs',
    fault: 'is one of several default configs of',
    broken: sql`SELECT organisation_id, MIN(id) AS id,
        COALESCE(workspace_id, 'the organisation') AS detail
      FROM configs WHERE is_default = 1
      GROUP BY organisation_id, workspace_id HAVING COUNT(*) > 1`,
  },
  ...kindNames.map(claim),
  ...ofOwners.map(ofOwner),
  {
    table: 'sync_revision_changes',
    fault: 'belongs to a missing revision',
    broken: sql`SELECT changes.organisation_id, changes.owner AS id, changes.revision AS detail
      FROM sync_revision_changes AS changes
      LEFT JOIN sync_revisions AS named ON named.organisation_id = changes.organisation_id
        AND named.owner = changes.owner AND named.number = changes.revision
      WHERE named.owner IS NULL`,
  },
  ...(Object.keys(subjectTables) as (keyof typeof subjectTables)[]).flatMap((kind) => [
    counter('usage_counters', kind),
    counter('usage_windows', kind),
  ]),
  ...budgeted.map(budget),
];

function reference(table: string, column: string, target: string): Rule {
  return {
    table,
    fault: `refers in ${column} to a missing row of ${target}`,
    broken: missing(table, column, target),
  };
}

function allowedSecret(column: string, target: string): Rule {
  const table = 'secret_reference_workspaces';
  const id = sql`referring.secret_reference_id`;
  return { ...reference(table, column, target), broken: missing(table, column, target, { id }) };
}

/** Rows of `table` whose `column` refers to no active row of `target`. */
function missing(
  table: string,
  column: string,
  target: string,
  options: { readonly where?: RawBuilder<unknown>; readonly id?: RawBuilder<unknown> } = {},
): RawBuilder<Row> {
  const { where = sql`TRUE`, id = sql`referring.id` } = options;
  const named = sql.ref(`referring.${column}`);
  // An archived workspace owns nothing.
  const archived = target === 'workspaces' ? sql`OR named.status = 'archived'` : sql``;
  return sql<Row>`SELECT referring.organisation_id, ${id} AS id, ${named} AS detail
    FROM ${sql.table(table)} AS referring
    LEFT JOIN ${sql.table(target)} AS named
      ON named.organisation_id = referring.organisation_id AND named.id = ${named}
    WHERE ${named} IS NOT NULL AND (named.id IS NULL ${archived}) AND ${where}`;
}

function versions(table: string, target: string): Rule {
  return {
    table,
    fault: `is a version of a missing row of ${target}`,
    broken: sql`SELECT versions.organisation_id, LOWER(HEX(versions.id)) AS id,
        LOWER(HEX(versions.resource_id)) AS detail
      FROM ${sql.table(table)} AS versions
      LEFT JOIN ${sql.table(target)} AS named ON named.organisation_id = versions.organisation_id
        AND ${bytesOfId(sql.ref('named.id'))} = versions.resource_id
      WHERE named.id IS NULL`,
  };
}

/** The leases of owners are never deleted, and other tables refer to them. */
function ofOwner(table: string): Rule {
  return {
    table,
    fault: 'belongs to an owner without a lease',
    broken: sql`SELECT owned.organisation_id, owned.owner AS id, NULL AS detail
      FROM ${sql.table(table)} AS owned
      LEFT JOIN sync_leases AS named ON named.organisation_id = owned.organisation_id
        AND named.owner = owned.owner
      WHERE named.owner IS NULL`,
  };
}

function claim(kind: KindName): Rule {
  return {
    table: 'managed_resources',
    fault: `claims a missing ${kind}`,
    broken: missing('managed_resources', 'resource_id', tableOfKind[kind], {
      where: sql`referring.kind = ${sql.lit(kind)}`,
      id: sql`referring.resource_id`,
    }),
  };
}

function counter(
  table: 'usage_counters' | 'usage_windows',
  kind: keyof typeof subjectTables,
): Rule {
  return {
    table,
    fault: `counts for a missing ${kind}`,
    broken: sql`SELECT counted.organisation_id, counted.id, NULL AS detail
      FROM (SELECT DISTINCT organisation_id, ${asText(sql`subject_id`)} AS id
        FROM ${sql.table(table)} WHERE subject_kind = ${sql.lit(kind)}) AS counted
      LEFT JOIN ${sql.table(subjectTables[kind])} AS named
        ON named.organisation_id = counted.organisation_id AND named.id = counted.id
      WHERE named.id IS NULL`,
  };
}

/** The text of an id stored as bytes, so that the join can use the primary key. */
function asText(bytes: RawBuilder<unknown>): RawBuilder<string> {
  const hyphens = [9, 14, 19, 24].reduce(
    (text, at) => sql`INSERT(${text}, ${sql.lit(at)}, 0, '-')`,
    sql`LOWER(HEX(${bytes}))`,
  );
  return sql<string>`CONVERT(${hyphens} USING ascii) COLLATE ascii_bin`;
}

function budget(kind: (typeof budgeted)[number]): Rule {
  return {
    table: 'usage_budgets',
    fault: `is the budget of a missing row of ${subjectTables[kind]}`,
    broken: missing('usage_budgets', 'subject_id', subjectTables[kind], {
      where: sql`referring.subject_kind = ${sql.lit(kind)}`,
      id: sql`referring.subject_id`,
    }),
  };
}
