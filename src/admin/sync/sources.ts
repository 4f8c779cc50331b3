/** HTTP route by which sync leaves the files that it has read, for proposals of changes. */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import type { BodyLimits } from '../../model/json/body-limits.ts';
import { placeOfSource, SyncSource, unpackSource } from '../../model/kinds/sync-source.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import * as syncSources from '../../store/sync/sync-sources.ts';
import { type AdminDeps, type AdminRequest, forOwners } from '../request/deps.ts';
import { claimScope, ownerOfLease, requireLease } from '../request/fencing.ts';
import { requireWholeOrganisation } from '../request/scoping.ts';

/** One long text. */
const sourceBody: BodyLimits = { bytesMax: 4 * 1024 * 1024 + 1024, valuesMax: 10 };

type SourceRequest = AdminRequest<Record<string, string>, undefined, SyncSource>;

export function syncSourceRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      path: '/gatewright/sync/sources',
      mounts: { admin: ['access-token'] },
      scope: claimScope,
      ...forOwners,
      method: 'PUT',
      summary: 'Store the files that the run of an owner has read, for proposals of changes',
      body: SyncSource,
      bodyLimits: sourceBody,
      response: z.object({}),
      handle: (request) => store(deps, request),
    }),
  ];
}

async function store(deps: AdminDeps, request: SourceRequest): Promise<Record<string, never>> {
  const { caller, body } = request;
  requireWholeOrganisation(caller);
  const owner = ownerOfLease(request);
  const { commit, files } = body;
  if (files !== null && (await unpackSource(files)) === null) {
    const message = 'must be the files of a source as JSON, compressed with gzip, in base64';
    throw validationError({ path: ['files'], message });
  }
  const { organisationId } = caller;
  const identity = { organisation_id: organisationId, owner };
  const sealer = await deps.keyring.sealerOf(organisationId);
  const sealed = files === null ? null : sealer.seal(files, placeOfSource(identity));
  await deps.database.transaction(async (tx) => {
    await syncSources.upsert(tx, { ...identity, commit_id: commit, files: sealed });
    await requireLease(tx, request, owner);
  });
  return {};
}
