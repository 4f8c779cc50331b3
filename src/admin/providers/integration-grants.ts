/** Writes the access and limits of single workspaces to an integration of the organisation. */
import { isDeepStrictEqual } from 'node:util';
import type { WorkspaceGrant } from '../../model/providers/integration.ts';
import {
  accessValueKey,
  type IntegrationAccess,
  readAccess,
} from '../../model/providers/integration-access.ts';
import { newId } from '../../model/wire/ids.ts';
import { readDocument, rewriteDocument, writeDocument } from '../../model/wire/json-record.ts';
import type { Db } from '../../store/connection/db.ts';
import * as integrationWorkspaces from '../../store/resources/integration-workspaces.ts';
import type { StoredIntegration } from '../../store/resources/integrations.ts';
import {
  type BudgetFields,
  type BudgetOwner,
  changeBudget,
  closeBudget,
  openBudget,
  replacingBudgets,
  requireFutureReset,
  resetBudget,
} from '../access/budgets.ts';
import type { Author } from '../request/change.ts';
import type { AdminDeps } from '../request/deps.ts';

/** A grant as sent, with the id of its workspace. */
export interface IntegrationGrant extends Omit<WorkspaceGrant, 'id'> {
  readonly workspaceId: string;
  /** Sets the usage of the running window to zero. */
  readonly resetsUsage?: boolean;
}

/** Author and scope of a write. */
interface GrantWrite {
  readonly deps: Pick<AdminDeps, 'audit'>;
  readonly author: Author;
  readonly integration: IntegrationBudget;
  /** Whether the grants of workspaces that are not listed are deleted. */
  readonly isWhole: boolean;
}

type IntegrationBudget = Pick<StoredIntegration, 'id' | 'organisation_id'>;

/** Changes the budget that applies to all workspaces. */
export async function changeAccessBudget(
  tx: Db,
  { deps, author, integration }: Omit<GrantWrite, 'isWhole'>,
  stored: { readonly before: string | null; readonly after: string | null },
): Promise<void> {
  const before = budgetOf(readAccess(stored.before).usage_limits);
  const after = budgetOf(readAccess(stored.after).usage_limits);
  if (before === null && after === null) return;
  if (before === null && after !== null) {
    requireFutureReset(after, author.now, ['global_workspace_access', 'usage_limits', 0]);
  }
  await changeBudget(tx, { deps, author }, accessOwner(integration), { before, after });
}

/** The access that replaces a stored one; its budget keeps the allowance for outages as those of keys do. */
export function replacingAccess<T extends IntegrationAccess | null | undefined>(
  sent: T,
  stored: string | null,
): T {
  if (!sent?.usage_limits) return sent;
  const before = readAccess(stored).usage_limits ?? null;
  return { ...sent, usage_limits: replacingBudgets(sent.usage_limits, before) };
}

/** Deletes that budget with the counters of each workspace. */
export async function closeAccessBudget(tx: Db, integration: IntegrationBudget): Promise<void> {
  await closeBudget(tx, accessOwner(integration));
}

function accessOwner({ id, organisation_id: organisationId }: IntegrationBudget): BudgetOwner {
  return { organisationId, kind: 'integration', id, workspaceId: null };
}

/** Returns whether anything changed. The row of the integration must be locked. */
export async function writeIntegrationGrants(
  tx: Db,
  writing: GrantWrite,
  grants: readonly IntegrationGrant[],
): Promise<boolean> {
  const { organisation_id: organisationId, id } = writing.integration;
  const stored = await integrationWorkspaces.listByIntegration(tx, organisationId, id);
  const storedBy = new Map(stored.map((row) => [row.workspace_id, row]));
  let isChanged = false;
  for (const grant of grants) {
    const row = storedBy.get(grant.workspaceId);
    const wrote =
      row === undefined
        ? await addGrant(tx, writing, grant)
        : await changeGrant(tx, writing, row, grant);
    isChanged ||= wrote;
  }
  if (!writing.isWhole) return isChanged;
  const named = new Set(grants.map(({ workspaceId }) => workspaceId));
  const removed = stored.filter((row) => !named.has(row.workspace_id));
  for (const row of removed) await removeGrant(tx, row);
  return isChanged || removed.length > 0;
}

/** Deletes the grant of a workspace with its budget. */
export async function removeGrant(
  tx: Db,
  row: integrationWorkspaces.StoredIntegrationWorkspace,
): Promise<void> {
  await closeBudget(tx, ownerOf(row));
  await integrationWorkspaces.deleteById(tx, row.organisation_id, row.id);
}

async function addGrant(
  tx: Db,
  { author, integration }: GrantWrite,
  grant: IntegrationGrant,
): Promise<true> {
  const { now } = author;
  const budget = budgetOf(grant.usage_limits);
  if (budget !== null) requireFutureReset(budget, now, ['workspaces']);
  const row = {
    id: newId(),
    organisation_id: integration.organisation_id,
    integration_id: integration.id,
    workspace_id: grant.workspaceId,
    enabled: grant.enabled ? 1 : 0,
    usage_limits: writeDocument(grant.usage_limits),
    rate_limits: writeDocument(grant.rate_limits),
    last_reset_at: null,
    created_at: now,
    last_updated_at: now,
  };
  await integrationWorkspaces.insert(tx, row);
  if (budget !== null) await openBudget(tx, ownerOf(row), budget, now);
  if (grant.resetsUsage === true) {
    await resetBudget(tx, accessOwner(integration), now, accessValueKey(row.workspace_id));
  }
  return true;
}

async function changeGrant(
  tx: Db,
  { deps, author, integration, isWhole }: GrantWrite,
  row: integrationWorkspaces.StoredIntegrationWorkspace,
  grant: IntegrationGrant,
): Promise<boolean> {
  const { now } = author;
  // A complete list clears the limits that it does not contain.
  const absent = isWhole ? null : undefined;
  const { usage_limits: usageLimits = absent, rate_limits: rateLimits = absent } = grant;
  const columns = {
    enabled: grant.enabled ? 1 : 0,
    usage_limits: rewriteDocument(
      row.usage_limits,
      replacingBudgets(usageLimits, readDocument<BudgetFields[]>(row.usage_limits)),
    ),
    rate_limits: rewriteDocument(row.rate_limits, rateLimits),
    last_reset_at: grant.resetsUsage === true ? now : row.last_reset_at,
  };
  const { enabled, usage_limits, rate_limits, last_reset_at } = row;
  const isSame = isDeepStrictEqual(columns, { enabled, usage_limits, rate_limits, last_reset_at });
  // A reset is an action, so it counts as a change each time.
  if (isSame && grant.resetsUsage !== true) return false;
  await integrationWorkspaces.update(tx, row, { ...columns, last_updated_at: now });
  if (columns.usage_limits !== usage_limits) {
    const before = budgetOf(readDocument(usage_limits));
    const after = budgetOf(readDocument(columns.usage_limits));
    await changeBudget(tx, { deps, author }, ownerOf(row), { before, after });
  }
  if (grant.resetsUsage === true) {
    await resetBudget(tx, ownerOf(row), now);
    await resetBudget(tx, accessOwner(integration), now, accessValueKey(row.workspace_id));
  }
  return true;
}

function budgetOf(limits: WorkspaceGrant['usage_limits']): BudgetFields | null {
  return limits?.[0] ?? null;
}

function ownerOf(
  row: Pick<
    integrationWorkspaces.StoredIntegrationWorkspace,
    'id' | 'organisation_id' | 'workspace_id'
  >,
): BudgetOwner {
  const { id, organisation_id: organisationId, workspace_id: workspaceId } = row;
  return { organisationId, kind: 'integration_workspace', id, workspaceId };
}
