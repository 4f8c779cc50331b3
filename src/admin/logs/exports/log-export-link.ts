/** Issues and verifies signed, expiring links to the files of exports. */
import { timingSafeEqual } from 'node:crypto';
import { ApiError } from '../../../model/wire/errors.ts';
import * as logExports from '../../../store/logs/log-exports.ts';
import { auditChange, returnedSecretField } from '../../request/change.ts';
import type { AdminDeps, AdminRequest } from '../../request/deps.ts';
import { idOr404 } from '../../request/scoping.ts';
import { requireVisibleExport } from './export-access.ts';

const linkMs = 15 * 60_000;

/**
 * Returns a link that needs no credential and audits it. @throws ApiError `conflict` for an unfinished
 * export
 */
export async function download(
  deps: Pick<AdminDeps, 'database' | 'keyring' | 'audit'>,
  request: AdminRequest,
) {
  const { database, keyring } = deps;
  const { caller, params, now, origin } = request;
  const { organisationId } = caller;
  const id = idOr404(params.exportId!);
  const stored = await logExports.find(database.readable, organisationId, id);
  const { status, workspace_id: workspaceId } = await requireVisibleExport(
    database.readable,
    caller,
    stored,
  );
  if (status !== 'success') {
    throw new ApiError('conflict', `This export is not finished: its status is ${status}`);
  }
  const expires = now + linkMs;
  const signature = keyring.signLink(linkOf(organisationId, id, expires)).toString('base64url');
  const query = new URLSearchParams({ organisationId, expires: `${expires}`, signature });
  const entry = {
    kind: 'LogExport',
    resourceId: id,
    workspaceId,
    changes: { [returnedSecretField]: 'link' },
  } as const;
  await database.transaction((tx) => auditChange(tx, deps, request, { action: 'read', ...entry }));
  return { signed_url: `${origin}/v1/logs/exports/${id}/file?${query}` };
}

function linkOf(organisationId: string, id: string, expires: number): string {
  return ['log-export', organisationId, id, expires].join('\n');
}

/** Whether this deployment has signed the link. */
export function isValidSignature(
  keyring: AdminDeps['keyring'],
  link: {
    readonly organisationId: string;
    readonly id: string;
    readonly expires: number;
    readonly signature: string;
  },
): boolean {
  const signature = Buffer.from(link.signature, 'base64url');
  const own = keyring.signLink(linkOf(link.organisationId, link.id, link.expires));
  return signature.length === own.length && timingSafeEqual(signature, own);
}
