/** HTTP route for the file of an export, for holders of a signed link. */
import { z } from 'zod';
import { toRefusedCredential } from '../../../auth/refused-credentials.ts';
import { SlicedText } from '../../../http/connections/sliced-text.ts';
import { RawReply, type Route, type RouteRequest, route } from '../../../http/routes/route.ts';
import { ApiError } from '../../../model/wire/errors.ts';
import { isUuid } from '../../../model/wire/slug-forms.ts';
import * as logExports from '../../../store/logs/log-exports.ts';
import { returnedSecretField } from '../../request/change.ts';
import type { AdminDeps } from '../../request/deps.ts';
import { isValidSignature } from './log-export-link.ts';

type Deps = Pick<AdminDeps, 'database' | 'blobs' | 'keyring' | 'refusals' | 'audit'>;

const LinkQuery = z.object({
  organisationId: z.string().max(64),
  expires: z.string().regex(/^\d{1,15}$/, 'must be that of a link'),
  signature: z.string().max(64),
});

export function logExportFileRoutes(deps: Deps): Route<null>[] {
  return [
    route({
      mounts: { v1: ['none'] },
      method: 'GET',
      path: '/logs/exports/:exportId/file',
      summary: 'Get the file of an export by its link, as JSON lines',
      query: LinkQuery,
      response: z.unknown(),
      refusals: ['unavailable'],
      handle: (request) => read(deps, request),
    }),
  ];
}

async function read(
  { database, keyring, blobs, refusals, audit }: Deps,
  request: RouteRequest<null, Record<string, string>, z.infer<typeof LinkQuery>>,
): Promise<RawReply> {
  const { params, query, now, remoteAddress, requestId } = request;
  const id = params.exportId!;
  const { organisationId } = query;
  const expires = Number(query.expires);
  const isGenuine = isUuid(id) && isValidSignature(keyring, { ...query, id, expires });
  if (!isGenuine || now > expires) {
    const whose = isGenuine ? { organisationId, subjectId: id } : {};
    const reason = isGenuine ? 'expired' : 'unknown';
    const refused = toRefusedCredential({ credential: 'link', reason, ...whose });
    refusals.record(refused, { server: 'admin', remoteAddress });
    throw new ApiError('notFound', 'This link is invalid or has expired; request another one');
  }
  const row = await logExports.find(database.readable, organisationId, id);
  if (row?.status !== 'success') throw new ApiError('notFound');
  // Audited before the first byte. The reader is unknown, but the link is one of this deployment.
  await database.transaction((tx) =>
    audit(tx, [
      {
        organisationId,
        workspaceId: row.workspace_id,
        at: now,
        requestId,
        actorKind: 'system',
        actorId: 'link',
        action: 'read',
        resourceKind: 'LogExport',
        resourceId: id,
        changes: { [returnedSecretField]: 'file', source: remoteAddress },
      },
    ]),
  );
  const parts = await logExports.listParts(database.readable, organisationId, id);
  return new RawReply(200, new SlicedText(pieces(blobs, organisationId, parts), row.bytes), {
    'content-type': 'application/jsonl',
    'content-disposition': `attachment; filename="export-${id}.jsonl"`,
    'cache-control': 'no-store',
  });
}

async function* pieces(
  blobs: Deps['blobs'],
  organisationId: string,
  ids: readonly string[],
): AsyncGenerator<Buffer> {
  for (const id of ids) {
    const blob = await blobs.read({ organisationId, id });
    if (blob === null) throw new ApiError('notFound');
    yield* blob.pieces;
  }
}
