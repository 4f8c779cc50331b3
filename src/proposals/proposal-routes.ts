/** HTTP routes for changes of manifests: their text, what a change would do, and the pull request. */

import type { z } from 'zod';
import type { AdminRequest } from '../admin/request/deps.ts';
import type { Principal } from '../auth/principal.ts';
import { type Route, route } from '../http/routes/route.ts';
import { documentBodyLimits } from '../model/json/body-limits.ts';
import { deliveryOf, findManifest, requireResult } from './managed-manifest.ts';
import type { ReadManifest } from './planning/planning-task.ts';
import {
  ManifestQuery,
  ManifestText,
  OpenedProposal,
  PreviewBody,
  ProposalBody,
  ProposalPreview,
} from './proposal-bodies.ts';
import type { ProposalDeps } from './proposal-deps.ts';
import { preview, propose } from './propose.ts';

/** Nothing but the last route writes, and that only at the Git host and in the audit log. */
export function proposalRoutes(deps: ProposalDeps): Route<Principal>[] {
  const common = { mounts: { admin: ['access-token', 'session'] } } as const;
  const posted = {
    ...common,
    method: 'POST',
    bodyLimits: documentBodyLimits,
    // A repetition is found at the Git host, by the branch of the proposal.
    isRepeatable: true,
    refusals: ['conflict', 'rateLimited', 'unavailable', 'notFound'],
  } as const;
  return [
    route({
      ...common,
      method: 'GET',
      path: '/gatewright/proposals/manifest',
      scope: 'organisation_settings.read',
      summary: 'Get the manifest of a resource that sync manages, as sync has read it',
      query: ManifestQuery,
      refusals: ['conflict', 'rateLimited', 'unavailable', 'notFound'],
      response: ManifestText,
      handle: (request) => readManifest(deps, request),
    }),
    route({
      ...posted,
      path: '/gatewright/proposals/preview',
      scope: 'organisation_settings.read',
      summary: 'Get the file, the patch and the plan that a change of a manifest would have',
      body: PreviewBody,
      response: ProposalPreview,
      handle: (request) => preview(deps, request),
    }),
    route({
      ...posted,
      path: '/gatewright/proposals',
      scope: 'organisation_settings.update',
      summary: 'Open a pull request that changes a manifest, at the configured Git host',
      body: ProposalBody,
      response: OpenedProposal,
      handle: (request) => propose(deps, request),
    }),
  ];
}

async function readManifest(
  deps: ProposalDeps,
  request: AdminRequest<Record<string, string>, z.infer<typeof ManifestQuery>>,
): Promise<z.infer<typeof ManifestText>> {
  const found = await findManifest(deps, request, request.query);
  const result = await deps.planner.run(async () => found.task);
  const { path, line, manifest } = requireResult<ReadManifest>(result);
  const { kind, id, owner, source, commit } = found;
  return {
    object: 'manifest',
    kind,
    id,
    owner,
    source,
    path,
    line,
    commit,
    manifest,
    ...deliveryOf(deps, found),
  };
}
