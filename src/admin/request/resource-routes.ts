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
  someField,
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

type Scope = NonNullable<Route['scope']>;

/**
 * Declares routes of one resource. `path` leads to one of them (`/mcp-servers/:mcpServerId`), and
 * without its last part to all.
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
 * Declares the routes of one item: all that there are for what nobody makes, and a delete takes back
 * to saying nothing. Updates and deletes honour `If-Match`: see resource-change.ts.
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
        body: operation.body.meta(someField),
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
