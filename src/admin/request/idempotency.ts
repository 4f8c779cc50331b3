/** Knows how a change sent twice is made once: its answer is kept in the transaction that made it. */
import { createHash } from 'node:crypto';
import type { Sealer } from '../../auth/keyring.ts';
import type { Principal } from '../../auth/principal.ts';
import { answerOf } from '../../http/respond.ts';
import { RawReply, type Route, type RouteRequest } from '../../http/route.ts';
import { isIdempotent } from '../../http/route-errors.ts';
import { ApiError } from '../../model/errors.ts';
import { answersKeptMs } from '../../model/idempotency.ts';
import type { Db } from '../../store/connection/db.ts';
import * as idempotencyKeys from '../../store/tables/idempotency-keys.ts';
import { auditChange } from './change.ts';
import type { AdminDeps } from './deps.ts';
import { joining } from './joining.ts';

export interface Idempotency {
  /** For the handlers: their transactions become part of the one that keeps the answer. */
  readonly deps: AdminDeps;
  /** Makes a route that creates heed `Idempotency-Key`; any other stays as it is. */
  readonly heed: (route: Route<Principal>) => Route<Principal>;
}

export function createIdempotency(given: AdminDeps): Idempotency {
  const deps: AdminDeps = { ...given, database: joining(given.database) };
  const keeping = (
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
      const made = { request_hash: hashOf(route, request), created_at: request.now };
      const kept = await idempotencyKeys.lock(tx, identity, made);
      const place = ['idempotency_keys', ...Object.values(identity), 'answer'].join('|');
      if (kept.answer !== null && kept.created_at > request.now - answersKeptMs) {
        if (!kept.request_hash.equals(made.request_hash)) throw otherRequest();
        const replayed = replay(sealer.unseal(kept.answer, place));
        await recordRead(tx, deps, route, { request, text: String(replayed.text) });
        return replayed;
      }
      const result = await route.handle(request);
      const { status, text, headers } = await answerOf(result, route.successStatus ?? 200);
      if (status >= 400) throw new NotKept(result);
      const answer = sealer.seal(JSON.stringify({ status, text, headers }), place);
      await idempotencyKeys.update(tx, identity, { ...made, answer });
      return result;
    });
  const once = async (
    route: Route<Principal>,
    request: RouteRequest<Principal>,
    key: string,
  ): Promise<unknown> => {
    const sealer = await given.keyring.sealerOf(request.caller.organisationId);
    try {
      return await keeping(sealer, route, request, key);
    } catch (error) {
      if (error instanceof NotKept) return error.answer;
      throw error;
    }
  };
  const heed = (route: Route<Principal>): Route<Principal> => {
    // The token service makes nothing that a second request would double.
    if (!isIdempotent(route)) return route;
    const handle: Route<Principal>['handle'] = (request) =>
      request.idempotencyKey === null
        ? route.handle(request)
        : once(route, request, request.idempotencyKey);
    return { ...route, handle };
  };
  return { deps, heed };
}

/** Undoes what has led to a refusal that a handler has answered rather than thrown. */
class NotKept extends Error {
  readonly answer: unknown;

  constructor(answer: unknown) {
    super('a refusal');
    this.answer = answer;
  }
}

/**
 * Of all that decides what the request does, as it was understood, and whether it may: the place and
 * the scopes of the credential too, because one account is given tokens for other workspaces and roles.
 */
function hashOf(route: Route<Principal>, request: RouteRequest<Principal>): Buffer {
  const { mount, params, query, body, owner, caller } = request;
  const asked = [route.method, route.path, mount, params, query, body, owner];
  const text = JSON.stringify([asked, caller.workspaceId, caller.scopes.toSorted()]);
  return createHash('sha256').update(text).digest();
}

function replay(unsealed: string): RawReply {
  const { status, text, headers } = JSON.parse(unsealed) as Pick<
    RawReply,
    'status' | 'text' | 'headers'
  >;
  return new RawReply(status, text, { ...headers, 'idempotency-replayed': 'true' });
}

/** In the transaction that found the answer: it is not told without its row. */
async function recordRead(
  tx: Db,
  deps: Pick<AdminDeps, 'audit'>,
  { tellsCredentialOf: kind }: Route<Principal>,
  { request, text }: { readonly request: RouteRequest<Principal>; readonly text: string },
): Promise<void> {
  if (kind === undefined) return;
  const { id: resourceId } = JSON.parse(text) as { readonly id: string };
  const { workspaceId } = request.caller;
  const changes = { told: 'credential' };
  await auditChange(tx, deps, request, { action: 'read', kind, resourceId, workspaceId, changes });
}

function otherRequest(): ApiError {
  const message =
    'This Idempotency-Key was used for another request; a new request needs a new key';
  return new ApiError('conflict', message, 'Idempotency-Key');
}
