/** Declares the five operations of a resource whose record is one row, found by its id. */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import type { Route } from '../../http/routes/route.ts';
import { listReply, listSchema, type Page, toPage } from '../../model/wire/paging.ts';
import type { Db } from '../../store/connection/db.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';
import type { AdminDeps } from './deps.ts';
import {
  type BodyRequest,
  type CreateFields,
  type ItemRequest,
  type QueryRequest,
  type UpdateFields,
  WorkspaceQuery,
} from './frame-fields.ts';
import {
  createResource,
  deleteResource,
  type ResourceWriter,
  type StoredResource,
  updateResource,
} from './resource-change.ts';
import { type Action, resourceRoutes, type Scope } from './resource-routes.ts';
import { type Hold, idOr404 } from './scoping.ts';
import { withVersionTag } from './version.ts';

/** The rows of a resource and their records. */
interface RowResource<Row extends StoredResource, Schema extends z.ZodType> {
  readonly writer: ResourceWriter<Row>;
  readonly record: { readonly schema: Schema; toRecord(row: Row): z.input<Schema> };
  /** Refuses callers that may change no row; runs before anything is read. */
  readonly requireEditor?: (caller: Principal) => void;
}

type WorkspaceField = { readonly workspace_id?: string | undefined };
type PageFields = { readonly page_size: number; readonly current_page: number };
type NewRow = { readonly id: string; readonly workspace_id: string | null };

interface Create<Row, B extends z.ZodType> {
  readonly summary: string;
  readonly body: B;
  /** Inserts the row; `changes` are facts for the audit row. */
  readonly insert: (
    tx: Db,
    request: BodyRequest<z.output<B>>,
    workspace: StoredWorkspace | null,
  ) => Promise<{ row: Row; changes: Record<string, unknown> }>;
  /** As {@link createResource}. */
  readonly hold?: Hold;
}

interface List<Row, Q extends z.ZodType> {
  readonly summary: string;
  readonly query: Q;
  readonly readPage: (
    db: Db,
    request: QueryRequest<z.output<Q>>,
    page: Page,
  ) => Promise<{ readonly rows: readonly Row[]; readonly total: number }>;
}

interface Update<Row extends StoredResource, B extends z.ZodType> {
  readonly summary: string;
  readonly body: B;
  /** Body fields that repeat the path. */
  readonly ignoredFields: readonly string[];
  /** New column values; undefined ones are not written. */
  readonly columns: (body: z.output<B>) => Partial<Row>;
  /** Changes other tables, given the changed columns. */
  readonly follow?: (
    tx: Db,
    request: BodyRequest<z.output<B>>,
    changed: Partial<Row>,
  ) => Promise<void>;
}

interface Get<Row> {
  readonly summary: string;
  readonly find: (db: Db, request: ItemRequest, id: string) => Promise<Row>;
}

interface Remove<Row> {
  readonly summary: string;
  /** Deletes the row and returns facts for the audit row. */
  readonly remove: (tx: Db, row: Row, request: ItemRequest) => Promise<Record<string, unknown>>;
}

/**
 * Declares operations like {@link resourceRoutes}, with the handlers that need only the row: bodies are
 * checked, transactions, versions and audit rows are those of resource-change.ts.
 */
export class RowRoutes<Row extends StoredResource, Schema extends z.ZodType> {
  readonly #deps: AdminDeps;
  readonly #on: ReturnType<typeof resourceRoutes>;
  readonly #resource: RowResource<Row, Schema>;

  /** `path` and `scope` are those of {@link resourceRoutes}. */
  constructor(
    deps: AdminDeps,
    path: `/${string}/:${string}`,
    scope: (action: Action) => Scope,
    resource: RowResource<Row, Schema>,
  ) {
    this.#deps = deps;
    this.#on = resourceRoutes(path, scope);
    this.#resource = resource;
  }

  /** Responds with the id. */
  create<B extends z.ZodType<CreateFields & WorkspaceField>, New extends NewRow>(
    operation: Create<New, B>,
  ): Route<Principal> {
    const { summary, body, insert, hold } = operation;
    const { kind } = this.#resource.writer;
    return this.#on.create({
      summary,
      body,
      response: z.object({ id: z.uuid() }),
      handle: async (request) => {
        this.#resource.requireEditor?.(request.caller);
        const insertIn = (tx: Db, workspace: StoredWorkspace | null) =>
          insert(tx, request, workspace);
        const { id } = await createResource(this.#deps, request, kind, insertIn, hold);
        return { id };
      },
    });
  }

  list<Q extends z.ZodType<PageFields>>(operation: List<Row, Q>): Route<Principal> {
    const { summary, query, readPage } = operation;
    const { schema, toRecord } = this.#resource.record;
    return this.#on.list({
      summary,
      query,
      response: listSchema(schema),
      handle: async (request) => {
        const page = toPage(request.query);
        const { rows, total } = await readPage(this.#deps.database.readable, request, page);
        return listReply(rows.values().map(toRecord), total);
      },
    });
  }

  get({ summary, find }: Get<Row>): Route<Principal> {
    const { record, writer } = this.#resource;
    return this.#on.get({
      summary,
      query: WorkspaceQuery,
      response: record.schema,
      handle: async (request) => {
        const id = idOr404(request.params[writer.param]!);
        const row = await find(this.#deps.database.readable, request, id);
        return withVersionTag(record.toRecord(row), row);
      },
    });
  }

  update<B extends z.ZodType<UpdateFields>>(operation: Update<Row, B>): Route<Principal> {
    const { columns, follow = async () => {}, ...declared } = operation;
    const { writer, requireEditor } = this.#resource;
    return this.#on.update({
      ...declared,
      response: z.object({}),
      handle: async (request) => {
        requireEditor?.(request.caller);
        await updateResource(this.#deps, request, writer, {
          columns: () => columns(request.body),
          follow: (tx, _, changed) => follow(tx, request, changed),
        });
        return {};
      },
    });
  }

  remove({ summary, remove }: Remove<Row>): Route<Principal> {
    const { writer, requireEditor } = this.#resource;
    return this.#on.remove({
      summary,
      handle: async (request) => {
        requireEditor?.(request.caller);
        const removeRow = (tx: Db, row: Row) => remove(tx, row, request);
        return deleteResource(this.#deps, request, writer, removeRow);
      },
    });
  }
}
