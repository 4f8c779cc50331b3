/** Knows the five operations that nearly every resource has, and how they hang on the three planes. */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Answering, type Route, route } from '../../http/route.ts';
import type { BodyLimits } from '../../model/body-limits.ts';
import { everyMount, forOwners } from './deps.ts';
import {
  type BodyRequest,
  type ItemRequest,
  type QueryRequest,
  WorkspaceQuery,
} from './frame-fields.ts';

type Action = 'create' | 'list' | 'read' | 'update' | 'delete';

interface Operation<Request, R extends z.ZodType> {
  readonly summary: string;
  readonly response: R;
  readonly handle: (request: Request) => Promise<Answering<R>>;
}

interface BodyOperation<B extends z.ZodType, R extends z.ZodType>
  extends Operation<BodyRequest<z.output<B>>, R> {
  readonly body: B;
  readonly bodyLimits?: BodyLimits;
  /** Body fields that repeat the path. */
  readonly ignoredFields?: readonly string[];
}

interface QueryOperation<Q extends z.ZodType, R extends z.ZodType>
  extends Operation<QueryRequest<z.output<Q>>, R> {
  readonly query: Q;
}

/**
 * Declares routes of one resource. `path` leads to one of them (`/mcp-servers/:mcpServerId`), and
 * without its last part to all. Updates and deletes honour `If-Match`: see resource-change.ts.
 */
export function resourceRoutes(
  path: `/${string}/:${string}`,
  scope: (action: Action) => NonNullable<Route['scope']>,
) {
  const all = { mounts: everyMount, path: path.slice(0, path.lastIndexOf('/')) };
  const item = { mounts: everyMount, path };
  return {
    create: <B extends z.ZodType, R extends z.ZodType>(
      operation: BodyOperation<B, R>,
    ): Route<Principal> =>
      route({ ...all, ...forOwners, method: 'POST', scope: scope('create'), ...operation }),
    list: <Q extends z.ZodType, R extends z.ZodType>(
      operation: QueryOperation<Q, R>,
    ): Route<Principal> => route({ ...all, method: 'GET', scope: scope('list'), ...operation }),
    get: <Q extends z.ZodType, R extends z.ZodType>(
      operation: QueryOperation<Q, R>,
    ): Route<Principal> => route({ ...item, method: 'GET', scope: scope('read'), ...operation }),
    update: <B extends z.ZodType, R extends z.ZodType>(
      operation: BodyOperation<B, R>,
    ): Route<Principal> =>
      route({
        ...item,
        ...forOwners,
        method: 'PUT',
        scope: scope('update'),
        versioned: true,
        ...operation,
      }),
    remove: (operation: {
      readonly summary: string;
      readonly handle: (request: ItemRequest) => Promise<Record<string, never>>;
    }): Route<Principal> =>
      route({
        ...item,
        ...forOwners,
        method: 'DELETE',
        scope: scope('delete'),
        versioned: true,
        query: WorkspaceQuery,
        response: z.object({}),
        ...operation,
      }),
  };
}
