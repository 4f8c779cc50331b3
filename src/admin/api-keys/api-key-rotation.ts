/** Rotates the value of an API key; the old and the new value are both valid for a transition period. */
import { z } from 'zod';
import type { ApiKeyRotate, ApiKeySubType, RotationPolicy } from '../../model/people/api-key.ts';
import { maskApiKey } from '../../model/people/credentials.ts';
import { rotatedPolicy, transitionOf } from '../../model/people/rotation-times.ts';
import { readDocument, rewriteDocument } from '../../model/wire/json-record.ts';
import { formatTimestampOrNull } from '../../model/wire/timestamp.ts';
import type { Db } from '../../store/connection/db.ts';
import type { StoredValue } from '../../store/resources/api-key-values.ts';
import * as apiKeyValues from '../../store/resources/api-key-values.ts';
import * as apiKeys from '../../store/resources/api-keys.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import { chooseValue } from '../access/chosen-value.ts';
import { requireChosenForDelivery, stillRotating } from '../access/rotation-faults.ts';
import { recordChange } from '../request/change.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import { createFields, type WorkspaceQuery } from '../request/frame-fields.ts';
import { findOr404, idOr404, requireWorkspace } from '../request/scoping.ts';
import { requireUnique } from '../request/unique.ts';
import { requireVersion } from '../request/version.ts';
import { ofSubType, requireKeyScope } from './api-key-changes.ts';
import { requireNoEscalation } from './api-key-rights.ts';
import { maxDaysOf, requireWithinMaximum } from './api-key-rules.ts';

/** Spread into the body schema of a rotation: owner and chosen value. */
export const rotateFields = {
  managed_by: createFields.managed_by,
  key: z.string().max(256).optional(),
};

type RotateBody = ApiKeyRotate & z.infer<z.ZodObject<typeof rotateFields>>;
type RotateRequest = AdminRequest<
  Record<string, string>,
  z.infer<typeof WorkspaceQuery>,
  RotateBody
>;

/**
 * Returns the new value, which is never shown again. Sending the same value again repeats the rotation:
 * the response is the same, and without `await_delivery` the previous value gets its end.
 */
export async function rotate(
  deps: AdminDeps,
  request: RotateRequest,
  subTypes: readonly ApiKeySubType[],
): Promise<{ id: string; key: string; key_transition_expires_at: string | null }> {
  const { body, caller, params, query } = request;
  requireChosenForDelivery(body, 'key');
  const key = chooseValue(deps, body, 'key');
  return deps.database.transaction(async (tx) => {
    const { organisationId } = caller;
    const stored = await apiKeys.findByIdForUpdate(tx, organisationId, idOr404(params.id!));
    const row = findOr404(caller, ofSubType(subTypes, stored));
    await requireWorkspace(tx, caller, row, query.workspace_id);
    requireKeyScope(caller, row, 'rotate');
    await requireNoEscalation(tx, caller, row);
    const values = await apiKeyValues.listForUpdate(tx, row);
    const hash = deps.keyring.hashCredential(key);
    const isRepeated = values[0]!.hash.equals(hash);
    if (!isRepeated) {
      requireVersion(request, row.version);
      const maxDays = maxDaysOf(await workspaceOf(tx, row));
      await requireWithinMaximum(tx, caller, maxDays, row.expires_at, request.now);
    }
    const columns = isRepeated
      ? await finish(tx, { request, row }, values[1])
      : await replace(tx, { request, row }, values, {
          hash,
          pepper_id: deps.keyring.pepperId,
        });
    const isChanged = Object.keys(columns).length > 0;
    if (isChanged) {
      const written = isRepeated ? columns : { ...columns, key_mask: maskApiKey(key) };
      await apiKeys.update(tx, organisationId, row.id, {
        ...written,
        last_updated_at: request.now,
      });
    }
    const { transition_expires_at: end } = { ...row, ...columns };
    await recordChange(tx, deps, request, {
      action: 'rotate',
      kind: 'ApiKey',
      resourceId: row.id,
      workspaceId: row.workspace_id,
      changes: { key_transition_expires_at: formatTimestampOrNull(end) },
      unchanged: !isChanged,
      managedBy: body.managed_by,
    });
    return { id: row.id, key, key_transition_expires_at: formatTimestampOrNull(end) };
  });
}

async function workspaceOf(tx: Db, { organisation_id, workspace_id }: apiKeys.StoredApiKey) {
  if (workspace_id === null) return null;
  return workspaces.findByIdOrSlug(tx, organisation_id, workspace_id);
}

interface Rotation {
  readonly request: RotateRequest;
  readonly row: apiKeys.StoredApiKey;
}

type RotationColumns = Partial<apiKeys.StoredApiKey>;

/** Sets the end of the previous value if it has none and its successor no longer awaits delivery. */
async function finish(
  tx: Db,
  { request: { body, now }, row }: Rotation,
  previous: StoredValue | undefined,
): Promise<RotationColumns> {
  const waits = previous !== undefined && previous.valid_until === null;
  if (!waits || body.await_delivery === true) return {};
  const policy = readDocument<RotationPolicy>(row.rotation_policy);
  const end = now + transitionOf(policy, body.key_transition_period_ms);
  await apiKeyValues.updateEnd(tx, row, previous.hash, end);
  return { transition_expires_at: end };
}

/**
 * An undelivered value may be replaced by another one that awaits delivery.
 *
 * @throws ApiError `conflict` while the previous value is still valid
 */
async function replace(
  tx: Db,
  { request, row }: Rotation,
  [current, previous]: readonly StoredValue[],
  value: Pick<StoredValue, 'hash' | 'pepper_id'>,
): Promise<RotationColumns> {
  const { body, now } = request;
  const givesUp = previous?.valid_until === null && body.await_delivery === true;
  if (!givesUp) requireTransitionEnded(previous, now);
  const policy = readDocument<RotationPolicy>(row.rotation_policy);
  const transitionMs = transitionOf(policy, body.key_transition_period_ms);
  const end = body.await_delivery === true ? null : now + transitionMs;
  // The newer of two values is the one that starts later.
  const rotatedAt = Math.max(now, current!.valid_from + 1);
  await apiKeyValues.deleteEnded(tx, row, now);
  const inserting = apiKeyValues.insert(tx, row, { ...value, valid_from: rotatedAt });
  await requireUnique(inserting, 'This key exists already', 'key');
  if (givesUp) {
    await apiKeyValues.deleteOne(tx, row, current!.hash);
    return { rotated_at: rotatedAt };
  }
  await apiKeyValues.updateEnd(tx, row, current!.hash, end);
  return {
    rotated_at: rotatedAt,
    transition_expires_at: end,
    rotation_policy: rewriteDocument(row.rotation_policy, rotatedPolicy(policy, now, transitionMs)),
  };
}

function requireTransitionEnded(previous: StoredValue | undefined, now: number): void {
  if (previous === undefined) return;
  const { valid_until: end } = previous;
  if (end !== null && end <= now) return;
  throw stillRotating(end, 'key_transition_expires_at');
}
