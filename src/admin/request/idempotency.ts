/** Carries out a repeated create only once: stores its response in the transaction that made the change. */
import { createHash } from 'node:crypto';
import type { Sealer } from '../../auth/keyring.ts';
import type { Principal } from '../../auth/principal.ts';
import { renderResult } from '../../http/responses/respond.ts';
import { RawReply, type Route, type RouteRequest } from '../../http/routes/route.ts';
import { isIdempotent } from '../../http/routes/route-errors.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { idempotentResponseTtlMs } from '../../model/wire/idempotency.ts';
import type { Db } from '../../store/connection/db.ts';
import * as idempotencyKeys from '../../store/resources/idempotency-keys.ts';
import { auditChange, returnedSecretField } from './change.ts';
import type { AdminDeps } from './deps.ts';
import { joinTransactions } from './join-transactions.ts';

export interface Idempotency {
  /** Dependencies for the handlers: their transactions join the one that stores the response. */
  readonly deps: AdminDeps;
  /** Makes a create route support `Idempotency-Key`; returns other routes unchanged. */
  readonly wrap: (route: Route<Principal>) => Route<Principal>;
}

export function createIdempotency(original: AdminDeps): Idempotency {
  const deps: AdminDeps = { ...original, database: joinTransactions(original.database) };
  const handleInTransaction = (
    sealer: Sealer,
    route: Route<Principal>,
    request: RouteRequest<Principal>,
    key: string,
  ) =>
    deps.database.transaction(async (tx) => {
      const identity = {
        organisation_id: request.caller.organisationId,
        principal_id: request.caller.id,
        idempotency_key: key,
      };
      const attempt = { request_hash: hashOf(route, request), created_at: request.now };
      const stored = await idempotencyKeys.lock(tx, identity, attempt);
      const place = ['idempotency_keys', ...Object.values(identity), 'answer'].join('|');
      if (stored.answer !== null && stored.created_at > request.now - idempotentResponseTtlMs) {
        if (!stored.request_hash.equals(attempt.request_hash)) throw otherRequest();
        const replayed = replay(sealer.unseal(stored.answer, place));
        await recordRead(tx, deps, route, { request, text: String(replayed.text) });
        return replayed;
      }
      const result = await route.handle(request);
      const { status, text, headers } = await renderResult(result, route.successStatus ?? 200);
      if (status >= 400) throw new HandledRefusal(result);
      const answer = sealer.seal(JSON.stringify({ status, text, headers }), place);
      await idempotencyKeys.update(tx, identity, { ...attempt, answer });
      return result;
    });
  const handleOnce = async (
    route: Route<Principal>,
    request: RouteRequest<Principal>,
    key: string,
  ): Promise<unknown> => {
    const sealer = await original.keyring.sealerOf(request.caller.organisationId);
    try {
      return await handleInTransaction(sealer, route, request, key);
    } catch (error) {
      if (error instanceof HandledRefusal) return error.result;
      throw error;
    }
  };
  const wrap = (route: Route<Principal>): Route<Principal> => {
    if (!isIdempotent(route)) return route;
    const handle: Route<Principal>['handle'] = (request) =>
      request.idempotencyKey === null
        ? route.handle(request)
        : handleOnce(route, request, request.idempotencyKey);
    return { ...route, handle };
  };
  return { deps, wrap };
}

/** Rolls back the transaction when a handler returns an error response instead of throwing. */
class HandledRefusal extends Error {
  readonly result: unknown;

  constructor(result: unknown) {
    super('a refusal');
    this.result = result;
  }
}

/**
 * Hash of everything that determines what the parsed request does and whether it may. It includes the
 * credential's workspace and scopes, because one account may hold tokens for several of them.
 */
function hashOf(route: Route<Principal>, request: RouteRequest<Principal>): Buffer {
  const { mount, params, query, body, owner, caller } = request;
  const input = [route.method, route.path, mount, params, query, body, owner];
  const text = JSON.stringify([input, caller.workspaceId, caller.scopes.toSorted()]);
  return createHash('sha256').update(text).digest();
}

function replay(unsealed: string): RawReply {
  const { status, text, headers } = JSON.parse(unsealed) as Pick<
    RawReply,
    'status' | 'text' | 'headers'
  >;
  return new RawReply(status, text, { ...headers, 'idempotency-replayed': 'true' });
}

/** Audits a repeated credential in the transaction that read it, so that none is returned without a row. */
async function recordRead(
  tx: Db,
  deps: Pick<AdminDeps, 'audit'>,
  { returnsCredentialOf: kind }: Route<Principal>,
  { request, text }: { readonly request: RouteRequest<Principal>; readonly text: string },
): Promise<void> {
  if (kind === undefined) return;
  const { id: resourceId } = JSON.parse(text) as { readonly id: string };
  const { workspaceId } = request.caller;
  const changes = { [returnedSecretField]: 'credential' };
  await auditChange(tx, deps, request, { action: 'read', kind, resourceId, workspaceId, changes });
}

function otherRequest(): ApiError {
  const message =
    'This Idempotency-Key was used for another request; a new request needs a new key';
  return new ApiError('conflict', message, 'Idempotency-Key');
}
