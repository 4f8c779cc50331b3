/** Defines the fields that surround a resource's own fields in bodies and queries: owner and location. */
import { z } from 'zod';
import { ManagedBy } from '../../model/manifests/managed-by.ts';
import { WorkspaceReference } from '../../model/wire/resource-fields.ts';
import { validationError } from '../../model/wire/validation-error.ts';
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
  /** Workspace of the resource; it cannot be moved. */
  workspace_id: WorkspaceReference.nullable().optional(),
};

/** OpenAPI metadata of update bodies: at least one field (see {@link requireUpdate}). */
export const updateBodyMeta = { minProperties: 1 };

/** Query of operations on one resource: the workspace that it must belong to. */
export const WorkspaceQuery = z.object({ workspace_id: WorkspaceReference.optional() });

export type CreateFields = z.infer<z.ZodObject<typeof createFields>>;
export type UpdateFields = z.infer<z.ZodObject<typeof updateFields>>;

type Params = Record<string, string>;

export type BodyRequest<Body> = AdminRequest<Params, undefined, Body>;

/** A list or another request with a query. */
export type QueryRequest<Query> = AdminRequest<Params, Query, undefined>;

/** A get or delete of the resource a path names. */
export type ItemRequest = QueryRequest<z.infer<typeof WorkspaceQuery>>;

/** @throws ApiError `invalid` when an update contains no field */
export function requireUpdate(body: object): void {
  const fields = Object.entries(body).filter(([field]) => field !== 'workspace_id');
  if (fields.some(([, value]) => value !== undefined)) return;
  throw validationError({ path: [], message: 'No update fields provided' });
}

const secretFields = ['key', 'client_secret'];
const frame = new Set([
  ...Object.keys(createFields),
  ...Object.keys(updateFields),
  ...secretFields,
]);

/** Names of the resource's own fields in a body, for the audit row; never their values. */
export function namesOfSentFields(body: object): string[] {
  return Object.entries(body)
    .filter(([field, value]) => value !== undefined && !frame.has(field))
    .map(([field]) => field);
}
