/** Accepts the workspace of a create or update in the query as well as in the body. */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import type { Route } from '../../http/routes/route.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import { WorkspaceQuery } from './frame-fields.ts';

/** The workspace field of a query or body. */
interface WorkspaceField {
  readonly workspace_id?: string | null | undefined;
}

/** Adds the query parameter to routes whose body has an optional `workspace_id` and that have no query. */
export function acceptWorkspaceInQuery(route: Route<Principal>): Route<Principal> {
  const { body, query, handle } = route;
  const field = body instanceof z.ZodObject ? (body.shape.workspace_id as z.ZodType) : undefined;
  if (field?.safeParse(undefined).success !== true || query !== undefined) return route;
  return {
    ...route,
    query: WorkspaceQuery,
    handle: (request) => {
      const merged = mergeWorkspace(
        request.body as WorkspaceField,
        request.query as WorkspaceField,
      );
      return handle({ ...request, query: undefined, body: merged });
    },
  };
}

/** @throws ApiError `invalid` when query and body name different workspaces */
function mergeWorkspace(
  body: WorkspaceField,
  { workspace_id: inQuery }: WorkspaceField,
): WorkspaceField {
  const inBody = body.workspace_id ?? undefined;
  if (inQuery === undefined || inQuery === inBody) return body;
  if (inBody === undefined) return { ...body, workspace_id: inQuery };
  const message = 'differs between the query and the body';
  throw validationError({ path: ['workspace_id'], message });
}
