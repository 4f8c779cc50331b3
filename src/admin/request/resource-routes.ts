/** Declares the five operations that nearly every resource has, on all three mounts. */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type HandlerResult, type Route, route } from '../../http/routes/route.ts';
import type { BodyLimits } from '../../model/json/body-limits.ts';
import { everyMount, forOwners } from './deps.ts';
import {
  type BodyRequest,
  type ItemRequest,
  type QueryRequest,
  updateBodyMeta,
  WorkspaceQuery,
} from './frame-fields.ts';

export type Action = 'create' | 'list' | 'read' | 'update' | 'delete';

interface Operation<Request, R extends z.ZodType> {
  readonly summary: string;
  readonly response: R;
  readonly handle: (request: Request) => Promise<HandlerResult<R>>;
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

export type Scope = NonNullable<Route['scope']>;

/**
 * Declares the routes of one resource. `path` is the path of an item (`/mcp-servers/:mcpServerId`); the
 * path without its last segment is that of the collection.
 */
export function resourceRoutes(path: `/${string}/:${string}`, scope: (action: Action) => Scope) {
  const all = { mounts: everyMount, path: path.slice(0, path.lastIndexOf('/')) };
  return {
    ...itemRoutes({ mounts: everyMount, path }, scope),
    create: <B extends z.ZodType, R extends z.ZodType>(
      operation: BodyOperation<B, R>,
    ): Route<Principal> =>
      route({ ...all, ...forOwners, method: 'POST', scope: scope('create'), ...operation }),
    list: <Q extends z.ZodType, R extends z.ZodType>(
      operation: QueryOperation<Q, R>,
    ): Route<Principal> => route({ ...all, method: 'GET', scope: scope('list'), ...operation }),
  };
}

/**
 * Declares the routes of one item. Resources that always exist have no others; a delete resets them.
 * Updates and deletes support `If-Match`: see resource-change.ts.
 */
export function itemRoutes(
  item: Pick<Route, 'mounts' | 'path'>,
  scope: (action: Exclude<Action, 'create' | 'list'>) => Scope,
) {
  return {
    get: <R extends z.ZodType, Q extends z.ZodType = z.ZodType<undefined>>(
      operation: Operation<QueryRequest<z.output<Q>>, R> & { readonly query?: Q },
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
        body: operation.body.meta(updateBodyMeta),
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
