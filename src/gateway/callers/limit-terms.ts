/** Reads the limits of a key and its workspace, and of a provider and its integration. */
import type { BudgetTerms, RateTerms } from '../../ledger/request-limits.ts';
import type { RateLimit } from '../../model/limits/limits.ts';
import { accessValueKey, hasLimits, readAccess } from '../../model/providers/integration-access.ts';
import { readDocument } from '../../model/wire/json-record.ts';
import type { ConfigurationReads } from '../../store/reads/configuration-reads.ts';
import type { UsagePolicyRow } from '../../store/reads/gateway-reads.ts';
import type { ReachedProvider } from '../../store/resources/providers.ts';
import type { StoredUsageBudget } from '../../store/usage/usage-budgets.ts';

/** The budgets and rate limits that apply to a key, token or provider. */
export interface LimitTerms {
  readonly budgets: readonly BudgetTerms[];
  readonly rates: readonly RateTerms[];
}

export const noTerms: LimitTerms = { budgets: [], rates: [] };

/** The budgets and rate limits of one subject. */
export interface LimitedSubject {
  readonly kind: 'api_key' | 'workspace' | 'provider' | 'integration_workspace' | 'integration';
  readonly id: string;
  readonly label: string;
  readonly rateLimits: readonly RateLimit[] | null;
  /** Distinguishes subjects that share the same limits. */
  readonly valueKey?: string;
  /** False when the budget of another subject replaces this one. */
  readonly isBudgeted?: boolean;
}

/** Reads the budgets of all subjects in one query. */
export async function readTerms(
  reads: Pick<ConfigurationReads, 'listBudgets'>,
  organisationId: string,
  subjects: readonly LimitedSubject[],
): Promise<LimitTerms> {
  if (subjects.length === 0) return noTerms;
  const ids = subjects.map(({ id }) => id);
  const rows = await reads.listBudgets(organisationId, ids);
  const subjectOf = ({ kind, id, label, valueKey = '' }: LimitedSubject) => ({
    organisationId,
    subjectKind: kind,
    subjectId: id,
    label,
    valueKey,
  });
  return {
    budgets: subjects.flatMap((subject) => {
      const row = rows.find((one) => one.subject_id === subject.id);
      return row === undefined || subject.isBudgeted === false
        ? []
        : [{ ...subjectOf(subject), ...termsOfRow(row) }];
    }),
    rates: subjects.flatMap((subject) => {
      const limits = subject.rateLimits ?? [];
      return limits.length === 0 ? [] : [{ ...subjectOf(subject), limits }];
    }),
  };
}

/** The terms that budget rows and policy rows share. */
export function termsOfRow(row: StoredUsageBudget | UsagePolicyRow) {
  return {
    type: row.type,
    limitUnits: row.credit_limit_units,
    alertThresholdUnits: row.alert_threshold_units,
    outageUnits: row.outage_units ?? 0,
    window: row,
  };
}

/** The workspace comes first, so that errors name it when both limits are reached. */
export function limitedSubjects(
  key: {
    readonly id: string;
    readonly name: string;
    readonly rateLimits: readonly RateLimit[] | null;
  },
  workspace: LimitedWorkspace | null,
): LimitedSubject[] {
  const own: LimitedSubject = {
    kind: 'api_key',
    id: key.id,
    label: `API key ${key.name}`,
    rateLimits: key.rateLimits,
  };
  return workspace === null ? [own] : [...workspaceSubjects(workspace), own];
}

export function workspaceSubjects(workspace: LimitedWorkspace): LimitedSubject[] {
  const { id, slug } = workspace;
  const rateLimits = workspace.rateLimits as readonly RateLimit[] | null;
  return [{ kind: 'workspace', id, label: `workspace ${slug}`, rateLimits }];
}

interface LimitedWorkspace {
  readonly id: string;
  readonly slug: string;
  readonly rateLimits: unknown;
}

/** Returns only the subjects that have limits, so that nothing is read for the others. */
export function providerSubjects(reached: ReachedProvider): LimitedSubject[] {
  const { provider } = reached;
  const subjects = integrationSubjects(reached);
  if ((provider.usage_limits ?? provider.rate_limits) !== null) {
    const label = `provider @${provider.slug}`;
    const rateLimits = readDocument<RateLimit[]>(provider.rate_limits);
    subjects.push({ kind: 'provider', id: provider.id, label, rateLimits });
  }
  return subjects;
}

/** The limits of the workspace itself, completed by those for all workspaces of the integration. */
function integrationSubjects({ provider, integration, grant }: ReachedProvider): LimitedSubject[] {
  const label = `the use of integration ${integration.slug} by its workspace`;
  const subjects: LimitedSubject[] = [];
  const ownRates = readDocument<RateLimit[]>(grant?.rate_limits ?? null) ?? [];
  const hasBudget = hasLimits(grant?.usage_limits ?? null);
  if (grant !== null && (hasBudget || ownRates.length > 0)) {
    subjects.push({ kind: 'integration_workspace', id: grant.id, label, rateLimits: ownRates });
  }
  const { usage_limits: budget, rate_limits: rates } = readAccess(
    integration.global_workspace_access,
  );
  const isBudgeted = !hasBudget && (budget ?? []).length > 0;
  const rateLimits = ownRates.length === 0 ? (rates ?? []) : [];
  if (isBudgeted || rateLimits.length > 0) {
    const valueKey = accessValueKey(provider.workspace_id);
    subjects.push({
      kind: 'integration',
      id: integration.id,
      label,
      rateLimits,
      valueKey,
      isBudgeted,
    });
  }
  return subjects;
}
