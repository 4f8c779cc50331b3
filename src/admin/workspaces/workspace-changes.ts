/** Creates, updates and archives workspaces, each in one transaction with its audit rows. */

import type { WorkspaceUsageLimits } from '../../model/limits/workspace-limits.ts';
import { defaultGuardrailFields } from '../../model/manifests/kind-references.ts';
import type { Membership } from '../../model/people/person.ts';
import {
  collectionSlugForm,
  defaultCollectionName,
} from '../../model/prompts/prompt-collection.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { newId } from '../../model/wire/ids.ts';
import { readDocument, rewriteDocument, writeDocument } from '../../model/wire/json-record.ts';
import { emptyToNull } from '../../model/wire/resource-fields.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import {
  displayName,
  type WorkspaceCreate,
  type WorkspaceDelete,
  type WorkspaceUpdate,
  workspaceSlugForm,
} from '../../model/workspaces/workspace.ts';
import type { Db } from '../../store/connection/db.ts';
import * as semanticAnswers from '../../store/objects/semantic-answers.ts';
import * as scimMappings from '../../store/people/scim-mappings.ts';
import * as workspaceMembers from '../../store/people/workspace-members.ts';
import * as promptCollections from '../../store/prompts/prompt-collections.ts';
import * as apiKeys from '../../store/resources/api-keys.ts';
import * as guardrailExclusions from '../../store/resources/guardrail-exclusions.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import * as workspaceContents from '../../store/rows/workspace-contents.ts';
import * as managedResources from '../../store/sync/managed-resources.ts';
import {
  type BudgetOwner,
  changeBudget,
  closeBudget,
  openBudget,
  replacingBudget,
  replacingBudgets,
  requireFutureReset,
} from '../access/budgets.ts';
import { resolveConfig } from '../access/config-access.ts';
import { recordChange } from '../request/change.ts';
import type { AdminDeps } from '../request/deps.ts';
import { type BodyRequest, type CreateFields, namesOfSentFields } from '../request/frame-fields.ts';
import {
  createResource,
  deleteResource,
  type ResourceWriter,
  updateResource,
} from '../request/resource-change.ts';
import { requireWholeOrganisation } from '../request/scoping.ts';
import { insertUnderSlug } from '../request/slugs.ts';
import {
  mergedDefaults,
  requireGuardrails,
  versionBesideGuardrails,
  versionColumns,
} from './workspace-defaults.ts';
import { addListedMembers } from './workspace-member-changes.ts';
import {
  emptySettingColumns,
  requireGrantableSettings,
  settingColumns,
} from './workspace-settings.ts';

type OwnershipFields = Pick<CreateFields, 'managed_by'>;

/** Members are not part of the declared workspace, because people join and leave without a manifest. */
interface MemberFields {
  readonly users?: readonly Membership[] | undefined;
}

/** Returns the stored row. */
export async function createWorkspace(
  deps: AdminDeps,
  request: BodyRequest<WorkspaceCreate & OwnershipFields & MemberFields>,
): Promise<workspaces.StoredWorkspace> {
  const { body, caller, now } = request;
  requireWholeOrganisation(caller);
  requireGrantableSettings(caller, body.settings, null);
  const unnamed: Omit<workspaces.StoredWorkspace, 'slug'> = {
    id: newId(),
    organisation_id: caller.organisationId,
    name: body.name,
    description: body.description ?? null,
    icon: emptyToNull(body.icon),
    scope_name: body.scope_name ?? null,
    defaults: mergedDefaults(null, body.defaults ?? null),
    usage_limits: writeDocument(body.usage_limits),
    rate_limits: writeDocument(body.rate_limits),
    status: 'active',
    is_default: 0,
    ...settingColumns(emptySettingColumns, body),
    created_by: caller.id,
    version: 1,
    guardrails_version: 1,
    own_version: 1,
    created_at: now,
    last_updated_at: now,
  };
  const budget = body.usage_limits?.[0] ?? null;
  if (budget !== null) requireFutureReset(budget, now, ['usage_limits', 0]);
  return createResource(deps, request, 'Workspace', async (tx) => {
    const row = await insertUnderSlug(workspaceSlugForm, undefined, unnamed, (named) =>
      workspaces.insert(tx, named),
    );
    if (budget !== null) await openBudget(tx, ownerOf(row), budget, now);
    await addDefaultCollection(tx, row);
    await addListedMembers(tx, deps, request, row, body.users ?? []);
    return { row: withOwnId(row), changes: { fields: namesOfSentFields(body) } };
  });
}

/**
 * The collection of prompts that name none; created and deleted with the workspace, without an audit row.
 */
async function addDefaultCollection(
  tx: Db,
  { id: workspace_id, organisation_id, created_at }: workspaces.StoredWorkspace,
): Promise<void> {
  const unnamed = {
    id: newId(),
    organisation_id,
    workspace_id,
    parent_collection_id: null,
    name: defaultCollectionName,
    is_default: 1,
    created_at,
    last_updated_at: created_at,
  };
  await insertUnderSlug(collectionSlugForm, undefined, unnamed, (named) =>
    promptCollections.insert(tx, named),
  );
}

export type WorkspaceResource = workspaces.StoredWorkspace & { readonly workspace_id: string };

/** Sets `workspace_id` to the row's own id, so that a bound credential finds only its own workspace. */
function withOwnId(row: workspaces.StoredWorkspace): WorkspaceResource {
  return { ...row, workspace_id: row.id };
}

/** Writer for one request; `version` selects the version that `If-Match` is compared with. */
export function createWorkspaceWriter(
  kind: 'Workspace' | 'WorkspaceGuardrails',
  version: (row: workspaces.StoredWorkspace) => number,
): ResourceWriter<WorkspaceResource> {
  let locked: workspaces.StoredWorkspace | undefined;
  return {
    kind,
    param: 'id',
    lock: async (tx, organisationId, reference) => {
      locked = await workspaces.findByIdOrSlugForUpdate(tx, organisationId, reference);
      return locked && { ...withOwnId(locked), version: version(locked) };
    },
    write: (tx, organisationId, id, { workspace_id: _, ...columns }) =>
      workspaces.update(tx, organisationId, id, {
        ...columns,
        ...versionColumns(locked!, columns),
      }),
  };
}

/** Returns `{}`. Absent fields stay, null clears; `defaults` are merged key by key. */
export async function updateWorkspace(
  deps: AdminDeps,
  request: BodyRequest<WorkspaceUpdate & OwnershipFields & MemberFields>,
): Promise<Record<string, never>> {
  const { body, caller, ifMatch } = request;
  const namesGuardrails = defaultGuardrailFields.some(
    (side) => body.defaults?.[side] !== undefined,
  );
  const clears = body.defaults === null;
  const writer = createWorkspaceWriter('Workspace', (row) =>
    namesGuardrails || clears ? row.version : versionBesideGuardrails(row, ifMatch),
  );
  await updateResource(deps, request, writer, {
    columns: async (tx, row) => {
      requireGrantableSettings(caller, body.settings, row);
      return { ...(await columnsOf(tx, body, row)), ...settingColumns(row, body) };
    },
    follow: async (tx, row, changed) => {
      if (body.usage_limits === undefined || changed.usage_limits === undefined) return;
      const before = readDocument<WorkspaceUsageLimits>(row.usage_limits)?.[0] ?? null;
      const after = replacingBudget(body.usage_limits?.[0] ?? null, before);
      await changeBudget(tx, { deps, author: request }, ownerOf(row), { before, after });
    },
  });
  return {};
}

/**
 * Archives a workspace and returns `{}`. Contents block this unless `force_delete` deletes them too;
 * contents created automatically never block. A name in the body is a confirmation and must match.
 */
export async function deleteWorkspace(
  deps: AdminDeps,
  contents: readonly workspaceContents.WorkspaceContents[],
  request: BodyRequest<WorkspaceDelete>,
): Promise<Record<string, never>> {
  const { body, now, ifMatch } = request;
  const admit = (_: unknown, row: WorkspaceResource) => requireConfirmation(request, row);
  const writer = createWorkspaceWriter('Workspace', (row) => versionBesideGuardrails(row, ifMatch));
  return deleteResource(deps, request, { ...writer, admit }, async (tx, row) => {
    const { organisation_id: organisationId } = row;
    const place = { organisationId, workspaceId: row.id };
    const items = await workspaceContents.list(tx, contents, place);
    const declared = items.filter(({ isAutomatic }) => !isAutomatic);
    if (declared.length > 0 && body.force_delete !== true) refuseWithContents(declared);
    await refuseWhilePinned(tx, row);
    await workspaceContents.removeAll(tx, contents, place, now);
    await workspaceMembers.deleteByWorkspace(tx, organisationId, row.id);
    await guardrailExclusions.deleteWithWorkspace(tx, place);
    await semanticAnswers.deleteWithWorkspace(tx, place);
    await managedResources.deleteByResource(tx, organisationId, 'WorkspaceGuardrails', row.id);
    const mappings = await scimMappings.listByWorkspace(tx, organisationId, row.id);
    await scimMappings.deleteWithClaims(tx, organisationId, mappings);
    await closeBudget(tx, ownerOf(row));
    for (const item of items) {
      await recordChange(tx, deps, request, {
        action: 'delete',
        kind: item.kind,
        resourceId: item.id,
        workspaceId: row.id,
        changes: { with_workspace: row.id },
      });
    }
    await workspaces.update(tx, organisationId, row.id, {
      status: 'archived',
      last_updated_at: now,
    });
    return { name: row.name, contents: items.length };
  });
}

function requireConfirmation(
  { body: { name } }: BodyRequest<WorkspaceDelete>,
  row: workspaces.StoredWorkspace,
): void {
  if (name === undefined || name === row.name || name === displayName(row)) return;
  throw validationError({ path: ['name'], message: 'must be the name of the workspace' });
}

/** `… still holds 2 ApiKey, 1 Config`. */
function refuseWithContents(items: readonly workspaceContents.WorkspaceItem[]): never {
  const counts = Map.groupBy(items, (item) => item.kind);
  const list = [...counts].map(([kind, ofKind]) => `${ofKind.length} ${kind}`).join(', ');
  const message = `The workspace still holds ${list}; delete them first or send force_delete`;
  throw new ApiError('conflict', message, 'force_delete');
}

/** An organisation key survives the workspace and must not lose its pinned config. */
async function refuseWhilePinned(tx: Db, row: workspaces.StoredWorkspace): Promise<void> {
  const key = await apiKeys.findPinnedToWorkspace(tx, row.organisation_id, row.id);
  if (key === undefined) return;
  const message = `The API key ${key.name} of the organisation is pinned to a config of this workspace`;
  throw new ApiError('conflict', message);
}

async function columnsOf(
  tx: Db,
  body: WorkspaceUpdate,
  row: workspaces.StoredWorkspace,
): Promise<Partial<workspaces.StoredWorkspace>> {
  const icon = body.icon === undefined ? row.icon : emptyToNull(body.icon);
  return {
    icon,
    name: body.name === undefined ? row.name : plainName(body.name, icon),
    description: body.description,
    usage_limits: rewriteDocument(
      row.usage_limits,
      replacingBudgets(body.usage_limits, readDocument<WorkspaceUsageLimits>(row.usage_limits)),
    ),
    rate_limits: rewriteDocument(row.rate_limits, body.rate_limits),
    defaults: body.defaults === undefined ? row.defaults : await defaultsOf(tx, body.defaults, row),
  };
}

/** Some clients send the icon back as part of the name; it is removed here. */
function plainName(name: string, icon: string | null): string {
  const prefix = `${icon} `;
  return icon !== null && name.startsWith(prefix) && name.length > prefix.length
    ? name.slice(prefix.length)
    : name;
}

/** The defaults column, after checking the references that were sent. */
async function defaultsOf(
  tx: Db,
  sent: WorkspaceUpdate['defaults'],
  row: workspaces.StoredWorkspace,
): Promise<string | null> {
  await requireGuardrails(tx, row, sent ?? {}, ['defaults']);
  const config = sent?.user_api_key_config;
  if (typeof config !== 'string') return mergedDefaults(row.defaults, sent);
  const { organisation_id: organisationId, id: workspaceId } = row;
  const pinning = { organisationId, workspaceId, path: ['defaults', 'user_api_key_config'] };
  const user_api_key_config = await resolveConfig(tx, pinning, config);
  return mergedDefaults(row.defaults, { ...sent, user_api_key_config });
}

function ownerOf({ id, organisation_id }: workspaces.StoredWorkspace): BudgetOwner {
  return { organisationId: organisation_id, kind: 'workspace', id, workspaceId: id };
}
