/** Creates, updates and deletes providers, each in one transaction with its audit rows. */

import type { UsageLimits } from '../../model/limits/key-limits.ts';
import { isGranted } from '../../model/providers/integration-access.ts';
import type { ProviderCreate, ProviderUpdate } from '../../model/providers/provider.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { newId } from '../../model/wire/ids.ts';
import { readDocument, rewriteDocument, writeDocument } from '../../model/wire/json-record.ts';
import { emptyToNull } from '../../model/wire/resource-fields.ts';
import { newSlug } from '../../model/wire/slug.ts';
import { parseTimestamp } from '../../model/wire/timestamp.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as integrations from '../../store/resources/integrations.ts';
import * as providers from '../../store/resources/providers.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';
import {
  type BudgetOwner,
  changeBudget,
  closeBudget,
  openBudget,
  replacingBudget,
  requireFutureReset,
  resetBudget,
} from '../access/budgets.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import {
  type BodyRequest,
  type CreateFields,
  type ItemRequest,
  namesOfSentFields,
  type UpdateFields,
} from '../request/frame-fields.ts';
import {
  createResource,
  deleteResource,
  type ResourceUpdate,
  type ResourceWriter,
  updateResource,
} from '../request/resource-change.ts';
import { resolveWorkspace } from '../request/scoping.ts';
import { insertUnderSlug, writeUnderSlug } from '../request/slugs.ts';
import { providerSlugForm } from './default-provider.ts';

type Caller = AdminRequest['caller'];
type Reference = string | null | undefined;

/**
 * The provider named by the path, in the workspace that the request names or is bound to.
 *
 * @throws ApiError `invalid` for a slug that is used in several workspaces
 */
export async function findProvider(
  db: Db,
  caller: Caller,
  reference: string,
  workspaceReference: Reference,
  list: typeof providers.listByReference = providers.listByReference,
): Promise<providers.StoredProvider | undefined> {
  const workspace = await resolveWorkspace(db, caller, workspaceReference);
  const matches = await list(db, caller.organisationId, workspace?.id ?? null, reference);
  if (matches.length > 1) {
    const message = `is required: providers of several workspaces have the slug ${reference}`;
    throw validationError({ path: ['workspace_id'], message });
  }
  return matches[0];
}

export function createProviderWriter(
  caller: Caller,
  workspace: Reference,
): ResourceWriter<providers.StoredProvider> {
  return {
    kind: 'Provider',
    param: 'providerId',
    lock: (tx, _, reference) =>
      findProvider(tx, caller, reference, workspace, providers.listByReferenceForUpdate),
    write: writeUnderSlug(providers.update),
  };
}

type CreateRequest = BodyRequest<ProviderCreate & CreateFields>;

/** Returns the new row. */
export async function createProvider(
  deps: AdminDeps,
  request: CreateRequest,
): Promise<{ id: string; slug: string }> {
  const { caller, body, now } = request;
  const terms = newTerms(body, now);
  return createResource(deps, request, 'Provider', async (tx, workspace) => {
    const { id: workspaceId } = requirePlace(workspace);
    const integration = await findUsable(tx, caller, workspaceId, body.integration_id);
    const place = { workspaceId, integration };
    const row = await insertProvider(tx, place, { ...body, ...terms }, now);
    return { row, changes: { fields: namesOfSentFields(body), integration: integration.slug } };
  });
}

/** @throws ApiError `invalid` without a workspace, because every provider belongs to one */
export function requirePlace(workspace: StoredWorkspace | null): StoredWorkspace {
  if (workspace !== null) return workspace;
  throw validationError({ path: ['workspace_id'], message: 'is required' });
}

/** Budget and expiry of a new provider. */
interface NewTerms {
  readonly budget: UsageLimits | null;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number | null;
}

/** @throws ApiError `invalid` for a first reset or an expiry in the past */
export function newTerms(
  body: Pick<ProviderCreate, 'usage_limits' | 'expires_at'>,
  now: number,
): NewTerms {
  const budget = body.usage_limits ?? null;
  if (budget !== null) requireFutureReset(budget, now, ['usage_limits']);
  const expiresAt = typeof body.expires_at === 'string' ? parseTimestamp(body.expires_at) : null;
  requireFutureExpiry(expiresAt, now);
  return { budget, expiresAt };
}

/** Inserts a provider with its budget and returns the row. */
export async function insertProvider(
  tx: Db,
  place: {
    readonly workspaceId: string;
    readonly integration: Pick<integrations.StoredIntegration, 'id' | 'organisation_id'>;
  },
  body: Pick<ProviderCreate, 'name' | 'slug' | 'note' | 'rate_limits' | 'tags'> & NewTerms,
  now: number,
) {
  const unnamed = {
    id: newId(),
    organisation_id: place.integration.organisation_id,
    workspace_id: place.workspaceId,
    integration_id: place.integration.id,
    name: body.name,
    note: emptyToNull(body.note),
    usage_limits: writeDocument(body.budget),
    rate_limits: writeDocument(body.rate_limits),
    expires_at: body.expiresAt,
    last_reset_at: null,
    tags: writeDocument(body.tags),
    creation_mode: 'api' as const,
    created_at: now,
    last_updated_at: now,
  };
  const row = await insertUnderSlug(providerSlugForm, body.slug, unnamed, (named) =>
    providers.insert(tx, named),
  );
  if (body.budget !== null) await openBudget(tx, ownerOf(row), body.budget, now);
  return row;
}

/** Finds an integration that the workspace may use and locks it until the transaction ends. */
async function findUsable(
  tx: Db,
  { organisationId }: Caller,
  workspaceId: string,
  reference: string,
): Promise<integrations.StoredIntegration> {
  const named = await integrations.findByIdOrSlugForShare(tx, organisationId, reference);
  if (named === undefined || ![null, workspaceId].includes(named.workspace_id)) {
    throw new ApiError('notFound', undefined, 'integration_id');
  }
  const withGrant = await integrations.findWithGrant(tx, organisationId, {
    id: named.id,
    workspaceId,
  });
  if (!isGranted(named, withGrant?.grant, workspaceId)) {
    const message = `User not allowed to access the resource: the integration ${named.slug} is not open to this workspace`;
    throw new ApiError('forbidden', message, 'integration_id');
  }
  return named;
}

type UpdateRequest = BodyRequest<ProviderUpdate & UpdateFields>;

/** Returns the updated row. Absent fields stay, null clears; `writeElsewhere` changes other tables. */
export async function updateProvider(
  deps: AdminDeps,
  request: UpdateRequest,
  writeElsewhere: ResourceUpdate<providers.StoredProvider>['writeElsewhere'] = async () => [],
): Promise<providers.StoredProvider> {
  const { body, caller, params, now } = request;
  const slug = newSlug(body.slug, params.providerId!);
  return updateResource(deps, request, createProviderWriter(caller, body.workspace_id), {
    columns: (_, row) => ({ ...columnsOf(body, row, now), slug }),
    // A changed provider no longer counts as automatically created.
    stamp: { creation_mode: 'api' },
    follow: async (tx, row, changed) => {
      if (body.usage_limits !== undefined && changed.usage_limits !== undefined) {
        const before = readDocument<UsageLimits>(row.usage_limits);
        const change = { before, after: replacingBudget(body.usage_limits, before) };
        await changeBudget(tx, { deps, author: request }, ownerOf(row), change);
      }
      if (resetsUsage(body)) await resetBudget(tx, ownerOf(row), now);
    },
    writeElsewhere,
  });
}

function columnsOf(
  body: ProviderUpdate,
  row: providers.StoredProvider,
  now: number,
): Partial<providers.StoredProvider> {
  const { expires_at: sent } = body;
  const expiresAt = typeof sent === 'string' ? parseTimestamp(sent) : null;
  if (sent !== undefined && expiresAt !== row.expires_at) requireFutureExpiry(expiresAt, now);
  return {
    name: body.name,
    note: body.note === undefined ? row.note : emptyToNull(body.note),
    usage_limits: rewriteDocument(
      row.usage_limits,
      replacingBudget(body.usage_limits, readDocument<UsageLimits>(row.usage_limits)),
    ),
    rate_limits: rewriteDocument(row.rate_limits, body.rate_limits),
    expires_at: sent === undefined ? row.expires_at : expiresAt,
    last_reset_at: resetsUsage(body) ? now : row.last_reset_at,
    tags: rewriteDocument(row.tags, body.tags),
  };
}

function resetsUsage({ reset_usage: sent }: ProviderUpdate): boolean {
  return sent === true || sent === 1;
}

/** @throws ApiError `invalid` for a time in the past */
function requireFutureExpiry(expiresAt: number | null, now: number): void {
  if (expiresAt === null || expiresAt > now) return;
  throw validationError({ path: ['expires_at'], message: 'must be in the future' });
}

/** Returns `{}`. */
export async function deleteProvider(
  deps: AdminDeps,
  request: ItemRequest,
): Promise<Record<string, never>> {
  const { caller, query } = request;
  return deleteResource(
    deps,
    request,
    createProviderWriter(caller, query.workspace_id),
    async (tx, row) => {
      await deleteProviderRow(tx, row);
      return { name: row.name };
    },
  );
}

/** Also deletes its budget. */
export async function deleteProviderRow(tx: Db, row: providers.StoredProvider): Promise<void> {
  await providers.deleteById(tx, row.organisation_id, row.id);
  await closeBudget(tx, ownerOf(row));
}

function ownerOf(
  row: Pick<providers.StoredProvider, 'id' | 'organisation_id' | 'workspace_id'>,
): BudgetOwner {
  const { id, organisation_id: organisationId, workspace_id: workspaceId } = row;
  return { organisationId, kind: 'provider', id, workspaceId };
}
