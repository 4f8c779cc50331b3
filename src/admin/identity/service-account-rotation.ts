/** Rotates the secret of a service account; the old and the new one are both valid for a transition period. */
import { z } from 'zod';
import type { RotationPolicy } from '../../model/people/api-key.ts';
import { rotatedPolicy, transitionOf } from '../../model/people/rotation-times.ts';
import type { ServiceAccountRotate } from '../../model/people/service-account.ts';
import { readDocument, rewriteDocument } from '../../model/wire/json-record.ts';
import { formatTimestampOrNull } from '../../model/wire/timestamp.ts';
import type { Db } from '../../store/connection/db.ts';
import * as profiles from '../../store/people/service-account-profiles.ts';
import * as serviceAccounts from '../../store/people/service-accounts.ts';
import { chooseValue } from '../access/chosen-value.ts';
import { requireChosenForDelivery, stillRotating } from '../access/rotation-faults.ts';
import { recordChange } from '../request/change.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import { createFields, type WorkspaceQuery } from '../request/frame-fields.ts';
import { findIn } from '../request/scoping.ts';
import { requireVersion } from '../request/version.ts';
import { serviceAccountWriter } from './service-account-changes.ts';
import { requireOwnReach } from './service-account-rights.ts';

/** Spread into the body schema of a rotation: owner and chosen secret. */
export const secretRotateFields = {
  managed_by: createFields.managed_by,
  client_secret: z.string().max(256).optional(),
};

type RotateBody = ServiceAccountRotate & z.infer<z.ZodObject<typeof secretRotateFields>>;
type RotateRequest = AdminRequest<
  Record<string, string>,
  z.infer<typeof WorkspaceQuery>,
  RotateBody
>;

/**
 * Returns the new secret, which is never shown again. Sending the same secret again repeats the rotation: the
 * response is the same, and without `await_delivery` the previous secret gets its end.
 */
export async function rotateServiceAccount(deps: AdminDeps, request: RotateRequest) {
  const { body, caller, params, query, now } = request;
  requireChosenForDelivery(body, 'client_secret');
  const secret = chooseValue(deps, body, 'client_secret');
  return deps.database.transaction(async (tx) => {
    const { organisationId } = caller;
    const finding = serviceAccountWriter.lock(tx, organisationId, params.accountId!);
    const row = await findIn(tx, caller, query.workspace_id, finding);
    await requireOwnReach(tx, caller, row);
    const account = (await serviceAccounts.findForUpdate(tx, caller.tsgId, row.id))!;
    const hash = deps.keyring.hashCredential(secret);
    const isRepeated = account.secret_hmac.equals(hash);
    if (!isRepeated) requireVersion(request, row.version);
    const rotation = { request, row, account };
    const columns = isRepeated
      ? await finish(tx, rotation)
      : await replace(tx, rotation, { secret_hmac: hash, pepper_id: deps.keyring.pepperId });
    const isChanged = Object.keys(columns).length > 0;
    if (isChanged) {
      await profiles.update(tx, organisationId, row.id, { ...columns, last_updated_at: now });
    }
    const { transition_expires_at: end } = { ...row, ...columns };
    const secret_transition_expires_at = formatTimestampOrNull(end);
    await recordChange(tx, deps, request, {
      action: 'rotate',
      kind: 'ServiceAccount',
      resourceId: row.id,
      workspaceId: row.workspace_id,
      changes: { secret_transition_expires_at },
      unchanged: !isChanged,
      managedBy: body.managed_by,
    });
    return { id: row.id, client_secret: secret, secret_transition_expires_at };
  });
}

interface Rotation {
  readonly request: RotateRequest;
  readonly row: profiles.StoredServiceAccountProfile;
  readonly account: serviceAccounts.StoredServiceAccount;
}

type RotationColumns = Partial<profiles.StoredServiceAccountProfile>;

/** Sets the end of the previous secret if it has none and its successor no longer awaits delivery. */
async function finish(
  tx: Db,
  { request: { body, now }, row, account }: Rotation,
): Promise<RotationColumns> {
  const waits = account.previous_secret_hmac !== null && account.previous_valid_until === null;
  if (!waits || body.await_delivery === true) return {};
  const end = now + transitionOf(policyOf(row), body.key_transition_period_ms);
  await serviceAccounts.update(tx, account, { previous_valid_until: end });
  return { transition_expires_at: end };
}

/**
 * An undelivered secret may be replaced by another one that awaits delivery.
 *
 * @throws ApiError `conflict` while the previous secret is still valid
 */
async function replace(
  tx: Db,
  { request: { body, now }, row, account }: Rotation,
  secret: Pick<serviceAccounts.StoredServiceAccount, 'secret_hmac' | 'pepper_id'>,
): Promise<RotationColumns> {
  const hasPrevious = serviceAccounts.previousSecret(account, now) !== null;
  const isUndelivered = hasPrevious && account.previous_valid_until === null;
  if (isUndelivered && body.await_delivery === true) {
    await serviceAccounts.update(tx, account, secret);
    return { rotated_at: now };
  }
  if (hasPrevious) {
    throw stillRotating(account.previous_valid_until, 'secret_transition_expires_at');
  }
  const policy = policyOf(row);
  const transitionMs = transitionOf(policy, body.key_transition_period_ms);
  const end = body.await_delivery === true ? null : now + transitionMs;
  await serviceAccounts.update(tx, account, {
    ...secret,
    previous_secret_hmac: account.secret_hmac,
    previous_valid_until: end,
  });
  return {
    rotated_at: now,
    transition_expires_at: end,
    rotation_policy: rewriteDocument(row.rotation_policy, rotatedPolicy(policy, now, transitionMs)),
  };
}

function policyOf(row: profiles.StoredServiceAccountProfile): RotationPolicy | null {
  return readDocument<RotationPolicy>(row.rotation_policy);
}
