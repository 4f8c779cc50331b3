/** Joins the rows of one organisation in a snapshot as the statements of store/reads/gateway-reads.ts join those of the database. */
import { readMappings } from '../../model/secrets/secret-mapping.ts';
import * as organisationDefaults from '../resources/organisation-defaults.ts';
import { namesMax, type ReachedProvider } from '../resources/providers.ts';
import type { ReadableReference } from '../resources/secret-references.ts';
import { readReference } from '../rows/references.ts';
import type { StoredUsageBudget } from '../usage/usage-budgets.ts';
import type {
  GatewayConfigRow,
  GatewayGuardrailRow,
  GatewayKeyRow,
  GatewayPolicies,
  ReadProviders,
  ReadSlugs,
  TokenWorkspaceRow,
} from './gateway-reads.ts';
import type { SnapshotRow } from './snapshot-tables.ts';
import type { OrganisationView } from './snapshot-view.ts';

/** Tables whose rows requests name by id or slug. */
type NamedTable =
  | 'configs'
  | 'guardrails'
  | 'workspaces'
  | 'providers'
  | 'prompts'
  | 'prompt_partials'
  | 'mcp_servers'
  | 'mcp_integrations';

/** Rows with an id or slug. */
function listNamed<T extends NamedTable>(
  view: OrganisationView,
  table: T,
  reference: string,
): readonly SnapshotRow<T>[] {
  const { column, value } = readReference(reference);
  return view.rows(table as 'configs', column, value) as unknown as readonly SnapshotRow<T>[];
}

export function findByReference<T extends NamedTable>(
  view: OrganisationView,
  table: T,
  reference: string,
): SnapshotRow<T> | undefined {
  return listNamed(view, table, reference)[0];
}

/** Archived workspaces are not found by name. */
export function findActiveWorkspaceIn(
  view: OrganisationView,
  reference: string,
): SnapshotRow<'workspaces'> | undefined {
  return listNamed(view, 'workspaces', reference).find(({ status }) => status === 'active');
}

export function defaultsIn(view: OrganisationView): organisationDefaults.StoredDefaults {
  return view.all('organisation_defaults')[0] ?? organisationDefaults.none;
}

export function exclusionIn(
  view: OrganisationView,
  workspaceId: string,
): SnapshotRow<'guardrail_exclusions'> | undefined {
  return view.rows('guardrail_exclusions', 'workspace_id', workspaceId)[0];
}

export function findKeyIn(view: OrganisationView, id: string): GatewayKeyRow | undefined {
  const [key] = view.rows('api_keys', 'id', id);
  if (key === undefined) return undefined;
  const { workspace_id: workspaceId } = key;
  const workspace =
    workspaceId === null ? undefined : view.rows('workspaces', 'id', workspaceId)[0];
  const exclusion = workspaceId === null ? undefined : exclusionIn(view, workspaceId);
  const [defaults] = view.all('organisation_defaults');
  return {
    ...key,
    // Changes without a new generation, so that no snapshot has it.
    last_used_at: null,
    workspace_slug: workspace?.slug ?? null,
    workspace_status: workspace?.status ?? null,
    workspace_defaults: workspace?.defaults ?? null,
    workspace_usage_limits: workspace?.usage_limits ?? null,
    workspace_rate_limits: workspace?.rate_limits ?? null,
    workspace_excludes_input: exclusion?.input_guardrails ?? null,
    workspace_excludes_output: exclusion?.output_guardrails ?? null,
    default_input_guardrails: defaults?.input_guardrails ?? null,
    default_output_guardrails: defaults?.output_guardrails ?? null,
    generation: view.generation,
  };
}

export function findTokenWorkspaceIn(
  view: OrganisationView,
  reference: string,
): TokenWorkspaceRow | undefined {
  const workspace = findActiveWorkspaceIn(view, reference);
  const organisation = view.all('organisations')[0];
  if (workspace === undefined || organisation === undefined) return undefined;
  return {
    organisationId: view.id,
    tsgId: organisation.tsg_id,
    workspace,
    defaults: defaultsIn(view),
    exclusion: exclusionIn(view, workspace.id),
    generation: view.generation,
  };
}

export function findConfigIn(
  view: OrganisationView,
  reference: string,
): GatewayConfigRow | undefined {
  const row = findByReference(view, 'configs', reference);
  return row && { ...row, generation: view.generation };
}

export function findGuardrailIn(
  view: OrganisationView,
  reference: string,
): GatewayGuardrailRow | undefined {
  const row = findByReference(view, 'guardrails', reference);
  return row && { ...row, generation: view.generation };
}

export function listBudgetsIn(
  view: OrganisationView,
  subjectIds: readonly string[],
): StoredUsageBudget[] {
  return [...new Set(subjectIds)].flatMap((id) => view.rows('usage_budgets', 'subject_id', id));
}

export function listPoliciesIn(view: OrganisationView): GatewayPolicies {
  const isActive = ({ status }: { readonly status: string }): boolean => status === 'active';
  return {
    generation: view.generation,
    usageLimits: view.all('usage_limit_policies').filter(isActive),
    rateLimits: view.all('rate_limit_policies').filter(isActive),
  };
}

export function listProvidersIn(
  view: OrganisationView,
  workspaceId: string | null,
  reference: string,
): ReadProviders {
  const named = listNamed(view, 'providers', reference).filter(
    ({ workspace_id: id }) => workspaceId === null || id === workspaceId,
  );
  const reached = named.slice(0, 2).map((provider) => reachedIn(view, provider));
  return {
    generation: view.generation,
    providers: reached.filter((one) => one !== undefined),
  };
}

function reachedIn(
  view: OrganisationView,
  provider: SnapshotRow<'providers'>,
): ReachedProvider | undefined {
  const [integration] = view.rows('integrations', 'id', provider.integration_id);
  if (integration === undefined) return undefined;
  const granted = view
    .rows('integration_workspaces', 'integration_id', integration.id)
    .find(({ workspace_id: id }) => id === provider.workspace_id);
  const grant = granted === undefined ? null : grantOf(granted);
  const references = secretReferencesIn(view, integration.secret_mappings);
  return { provider, integration, grant, references };
}

function grantOf({
  id,
  enabled,
  usage_limits,
  rate_limits,
}: SnapshotRow<'integration_workspaces'>): NonNullable<ReachedProvider['grant']> {
  return { id, enabled, usage_limits, rate_limits };
}

/** Secret references that mappings name, each with the workspaces that may use it. */
export function secretReferencesIn(
  view: OrganisationView,
  mappings: string | null,
): ReadableReference[] {
  const ids = new Set(readMappings(mappings).map(({ reference_id: id }) => id));
  return [...ids].flatMap((id) =>
    view.rows('secret_references', 'id', id).map((row) => ({
      ...row,
      workspaceIds:
        row.allow_all_workspaces === 0
          ? view
              .rows('secret_reference_workspaces', 'secret_reference_id', id)
              .map(({ workspace_id: workspaceId }) => workspaceId)
          : [],
    })),
  );
}

export function listSlugsIn(view: OrganisationView, workspaceId: string | null): ReadSlugs {
  const providers =
    workspaceId === null
      ? view.all('providers')
      : view.rows('providers', 'workspace_id', workspaceId);
  const names = providers.map(({ id, slug }) => ({ id, slug }));
  names.sort((one, other) => order(one.slug, other.slug) || order(one.id, other.id));
  return { generation: view.generation, providers: names.slice(0, namesMax) };
}

/** The order of binary collations. */
function order(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
