/** Knows the fields that stand around a resource's own in bodies and queries: whose it is, and where. */
import { z } from 'zod';
import { ManagedBy } from '../../model/managed-by.ts';
import { WorkspaceReference } from '../../model/resource-fields.ts';
import { validationError } from '../../model/validation-error.ts';
import type { AdminRequest } from './deps.ts';

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

/** Described of the body of an update: it says something (see {@link requireUpdate}). */
export const someField = { minProperties: 1 };

/** Query of operations on one resource: the workspace it must be in. */
export const WorkspaceQuery = z.object({ workspace_id: WorkspaceReference.optional() });

export type CreateFields = z.infer<z.ZodObject<typeof createFields>>;
export type UpdateFields = z.infer<z.ZodObject<typeof updateFields>>;

/** Parameters of a path, by name. */
type Params = Record<string, string>;

/** A create or update. */
export type BodyRequest<Body> = AdminRequest<Params, undefined, Body>;

/** A list, or anything else that is asked with a query. */
export type QueryRequest<Query> = AdminRequest<Params, Query, undefined>;

/** A get or delete of the resource a path names. */
export type ItemRequest = QueryRequest<z.infer<typeof WorkspaceQuery>>;

/**
 * Refuses an update that says nothing.
 *
 * @throws ApiError `invalid`.
 */
export function requireUpdate(body: object): void {
  const said = Object.entries(body).filter(([field]) => field !== 'workspace_id');
  if (said.some(([, value]) => value !== undefined)) return;
  throw validationError({ path: [], message: 'No update fields provided' });
}

const frame = new Set([...Object.keys(createFields), ...Object.keys(updateFields), 'key']);

/** Names of the resource's own fields that a body sets, for the audit row; never their values. */
export function sentFields(body: object): string[] {
  return Object.entries(body)
    .filter(([field, value]) => value !== undefined && !frame.has(field))
    .map(([field]) => field);
}
