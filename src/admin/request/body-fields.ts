/** Knows the fields that bodies carry beside the resource's own, and how faults found late are told. */
import { z } from 'zod';
import { refusal } from '../../http/input.ts';
import { ApiError } from '../../model/errors.ts';
import type { Fault } from '../../model/fault.ts';
import { ManagedBy } from '../../model/managed-by.ts';
import { WorkspaceReference } from '../../model/resource-fields.ts';
import type { Db } from '../../store/connection/db.ts';
import { isDuplicateEntry } from '../../store/tables/duplicate.ts';
import type { AdminRequest } from './deps.ts';
import { resolveWorkspace } from './scoping.ts';

/** Spread into the body schema of a create. */
export const createFields = {
  managed_by: ManagedBy.optional(),
  /** The caller's own organisation, by UUID or TSG id; may be left out. */
  organisation_id: z.string().min(1).max(64).optional(),
};

/** Spread into the body schema of an update. */
export const updateFields = {
  managed_by: ManagedBy.optional(),
  /** Where the resource is; it cannot be moved. */
  workspace_id: WorkspaceReference.nullable().optional(),
};

/** Query of operations on one resource: the workspace it must be in. */
export const WorkspaceQuery = z.object({ workspace_id: WorkspaceReference.optional() });

export type CreateFields = z.infer<z.ZodObject<typeof createFields>>;
export type UpdateFields = z.infer<z.ZodObject<typeof updateFields>>;

/** A get or delete of the resource a path names. */
export type ItemRequest = AdminRequest<
  Record<string, string>,
  z.infer<typeof WorkspaceQuery>,
  undefined
>;

/** One error that tells all faults. */
export function faultsError(faults: readonly Fault[]): ApiError {
  return refusal(
    faults.map(({ path, message }) => ({
      code: 'custom' as const,
      path: [...path],
      message,
      input: undefined,
    })),
  );
}

/** @throws ApiError `invalid` when there are any. */
export function refuseFaults(faults: readonly Fault[]): void {
  if (faults.length > 0) throw faultsError(faults);
}

/** Text in which nothing sent, null and '' are all no text. */
export function emptyToNull(text: string | null | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}

/**
 * Waits for an insert under a slug of the caller's choice.
 *
 * @throws ApiError `conflict` when the slug is taken.
 */
export async function refuseTakenSlug(inserting: Promise<void>): Promise<void> {
  try {
    await inserting;
  } catch (error) {
    if (isDuplicateEntry(error)) throw new ApiError('conflict', undefined, 'slug');
    throw error;
  }
}

/**
 * Refuses an update that says nothing.
 *
 * @throws ApiError `invalid`.
 */
export function requireUpdate(body: Readonly<Record<string, unknown>>): void {
  const { workspace_id: _, ...fields } = body;
  if (Object.values(fields).every((value) => value === undefined)) {
    throw new ApiError('invalid', 'Request Validation Error: No update fields provided');
  }
}

/**
 * Refuses to go on with a resource that is not in the workspace the request names.
 *
 * @throws ApiError `notFound`, or as {@link resolveWorkspace}.
 */
export async function requireWorkspace(
  db: Db,
  caller: AdminRequest['caller'],
  row: { readonly workspace_id: string | null },
  reference: string | null | undefined,
): Promise<void> {
  if (reference === undefined || reference === null) return;
  const workspace = await resolveWorkspace(db, caller, reference);
  if (workspace?.id !== row.workspace_id) throw new ApiError('notFound');
}

/**
 * Refuses another value for a field that is fixed when the resource is made.
 *
 * @throws ApiError `invalid`.
 */
export function requireUnchanged(field: string, sent: string | undefined, stored: string): void {
  if (sent === undefined || sent === stored) return;
  throw new ApiError('invalid', `Request Validation Error: ${field} cannot be changed`, field);
}
