/** Knows that a create or update may name its workspace in the query, as though its body did. */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import type { Route } from '../../http/route.ts';
import { validationError } from '../../model/validation-error.ts';
import { WorkspaceQuery } from './frame-fields.ts';

/** What is said of the workspace, in a query or a body. */
interface Place {
  readonly workspace_id?: string | null | undefined;
}

/** The route, which takes the workspace in the query, too, where its body may say it. */
export function placed(route: Route<Principal>): Route<Principal> {
  const { body, query, handle } = route;
  const said = body instanceof z.ZodObject ? (body.shape.workspace_id as z.ZodType) : undefined;
  // What a body has to say is said there.
  if (said?.safeParse(undefined).success !== true || query !== undefined) return route;
  return {
    ...route,
    query: WorkspaceQuery,
    handle: (request) => {
      const placedBody = inPlace(request.body as Place, request.query as Place);
      return handle({ ...request, query: undefined, body: placedBody });
    },
  };
}

/** @throws ApiError `invalid` where the two name it differently. */
function inPlace(body: Place, { workspace_id: asked }: Place): Place {
  const said = body.workspace_id ?? undefined;
  if (asked === undefined || asked === said) return body;
  if (said === undefined) return { ...body, workspace_id: asked };
  const message = 'is given twice, differently: in the query and in the body';
  throw validationError({ path: ['workspace_id'], message });
}
