/** HTTP route that checks which API keys or service accounts given values belong to; it never returns a value. */
import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { grantsScope } from '../../model/people/scopes.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { listSchema } from '../../model/wire/paging.ts';
import * as serviceAccounts from '../../store/people/service-accounts.ts';
import * as apiKeys from '../../store/resources/api-keys.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import { requireWholeOrganisation } from '../request/scoping.ts';

const proofsMax = 200;
/** Longer than any API key. */
const valueLengthMax = 128;

/** Requires scopes to write keys, so that read-only roles learn nothing here. */
const scopes = [
  'organisation_service_api_keys.update',
  'organisation_user_api_keys.update',
  'workspace_service_api_keys.update',
  'workspace_user_api_keys.update',
  'service_accounts.update',
];

const ProofBody = z.object({
  keys: z
    .array(
      z.object({
        /** The key or account that the value should belong to; absent to look it up. */
        id: z.uuid().optional(),
        value: z.string().min(1).max(valueLengthMax),
      }),
    )
    .min(1)
    .max(proofsMax),
});

/** In the order of the request. */
const Proof = z.object({
  id: z.uuid().nullable(),
  matches: z.boolean(),
  /** The key or account that the value belongs to, among those the caller may write; null for none. */
  holder: z.uuid().nullable(),
  /** Whether it is the current value, as opposed to the previous one in its transition period. */
  current: z.boolean(),
});

type ProofRequest = AdminRequest<Record<string, string>, undefined, z.infer<typeof ProofBody>>;

export function keyProofRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      method: 'POST',
      path: '/gatewright/key-proofs',
      mounts: { admin: ['access-token'] },
      scope: scopes,
      summary: 'Check which keys and accounts values belong to, for files that contain them',
      body: ProofBody,
      refusals: ['rateLimited'],
      response: listSchema(Proof),
      handle: (request) => prove(deps, request),
    }),
  ];
}

async function prove(deps: AdminDeps, request: ProofRequest) {
  const { caller, body, now } = request;
  requireWholeOrganisation(caller);
  const hashes = body.keys.map(({ value }) => deps.keyring.hashCredential(value));
  const holders = await findHolders(deps, caller, hashes, now);
  const proofs = body.keys.map(({ id = null }, at): z.infer<typeof Proof> => {
    const match = holders.find(({ hash }) => timingSafeEqual(hash, hashes[at]!));
    const holder = match?.id ?? null;
    const matches = holder !== null && holder === id?.toLowerCase();
    return { id, matches, holder, current: match?.is_current === 1 };
  });
  limitWrongValues(deps, request, proofs);
  return { object: 'list' as const, total: proofs.length, data: proofs };
}

async function findHolders(
  deps: AdminDeps,
  { organisationId, tsgId, scopes: held }: Principal,
  hashes: readonly Buffer[],
  now: number,
): Promise<readonly serviceAccounts.SecretHolder[]> {
  const db = deps.database.readable;
  const keys = (await apiKeys.listHolders(db, organisationId, hashes, now)).filter(({ type }) =>
    grantsScope(held, `${type.replace('-', '_')}_api_keys.update`),
  );
  if (!grantsScope(held, 'service_accounts.update')) return keys;
  return [...keys, ...(await serviceAccounts.listHolders(db, tsgId, hashes, now))];
}

/** Values cannot be guessed; the limit protects against callers that send wrong values continuously. */
function limitWrongValues(
  { throttle }: AdminDeps,
  { caller, now }: ProofRequest,
  proofs: readonly z.infer<typeof Proof>[],
): void {
  if (proofs.every(({ id, matches }) => matches || id === null)) return;
  if (!throttle.recordFailure([`key-proofs ${caller.id}`], now)) throw new ApiError('rateLimited');
}
