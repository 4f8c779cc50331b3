/** Knows how a holder of key values proves them over HTTP: which value is of which key, and never a value back. */
import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { grantsScope } from '../../model/people/scopes.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { listSchema } from '../../model/wire/paging.ts';
import * as apiKeys from '../../store/resources/api-keys.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import { requireWholeOrganisation } from '../request/scoping.ts';

const proofsMax = 200;
/** Longer than any prefix and checksum make a value. */
const valueLengthMax = 128;

/** What may be written with a key may be asked about it: reading roles learn nothing here. */
const scopes = [
  'organisation_service',
  'organisation_user',
  'workspace_service',
  'workspace_user',
].map((type) => `${type}_api_keys.update`);

const ProofBody = z.object({
  keys: z
    .array(
      z.object({
        /** The key that the value should be of; left out, whoever has it is told. */
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
  /** The key that has this value now, of those the caller may write; null for none. */
  holder: z.uuid().nullable(),
  /** Whether it is the holder's value since its last rotation, and not the one before, which ends. */
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
      summary: 'Prove that values are those of keys, for files that hold them',
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
  const db = deps.database.readable;
  const known = (await apiKeys.listHolders(db, caller.organisationId, hashes, now)).filter(
    ({ type }) => grantsScope(caller.scopes, `${type.replace('-', '_')}_api_keys.update`),
  );
  const proofs = body.keys.map(({ id = null }, at): z.infer<typeof Proof> => {
    const found = known.find(({ hash }) => timingSafeEqual(hash, hashes[at]!));
    const holder = found?.id ?? null;
    const matches = holder !== null && holder === id?.toLowerCase();
    return { id, matches, holder, current: found?.is_current === 1 };
  });
  refuseGuessing(deps, request, proofs);
  return { object: 'list' as const, total: proofs.length, data: proofs };
}

/** Values are too long to be guessed; whoever sends wrong ones all the time is wrong about something else. */
function refuseGuessing(
  { throttle }: AdminDeps,
  { caller, now }: ProofRequest,
  proofs: readonly z.infer<typeof Proof>[],
): void {
  if (proofs.every(({ id, matches }) => matches || id === null)) return;
  if (!throttle.recordFailure([`key-proofs ${caller.id}`], now)) throw new ApiError('rateLimited');
}
