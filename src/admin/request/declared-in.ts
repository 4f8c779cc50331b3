/** Adds to the records of a resource which manifest declares it, so that callers know where to change it. */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { RawReply, Reply, type Route } from '../../http/routes/route.ts';
import type { KindName } from '../../model/kinds/kinds.ts';
import type { ManagedBy } from '../../model/manifests/managed-by.ts';
import { type ListItems, StreamedList } from '../../model/wire/streamed-list.ts';
import type { Db } from '../../store/connection/db.ts';
import * as managedResources from '../../store/sync/managed-resources.ts';
import type { AdminDeps } from './deps.ts';

/** The manifest that declares a resource, as of the last run of sync that wrote it. */
const Declaration = z.object({
  /** The sync installation that manages the resource. */
  owner: z.string(),
  /** `metadata.workspace` of the manifest; null at organisation level. */
  workspace: z.string().nullable(),
  /** `metadata.name` of the manifest. */
  name: z.string(),
  /** Folder or Git URL of the source, without credentials. */
  source: z.string(),
  /** File in the source, and the line at which the manifest starts; null when they are unknown. */
  path: z.string().nullable(),
  line: z.int().nullable(),
  /** Commit id; null for a folder. */
  commit: z.string().nullable(),
});
type Declaration = z.infer<typeof Declaration>;

const member = { declared_in: Declaration.nullable() };

/** `/configs`, `/configs/:configId`, `/api-keys/service/:id`; not the versions or members of an item. */
const recordPath = /^(?:\/[a-z-]+)+(?:\/:\w+)?$/;

/** Items whose manifests are read with one statement. */
const itemsAtOnce = 200;

interface RecordWithId {
  readonly id: string;
}

interface DeclaredRecord extends RecordWithId {
  readonly declared_in: Declaration | null;
}

/** Extends the routes that return records of the kind, by id; returns all others unchanged. */
export function withDeclarations(
  deps: AdminDeps,
  kind: KindName,
  routes: readonly Route<Principal>[],
): Route<Principal>[] {
  // Clients of this kind refuse members that they do not know.
  if (kind === 'SecretReference') return [...routes];
  return routes.map((route) => {
    const isRead = route.method === 'GET' && recordPath.test(route.path);
    const extended = isRead ? extendedSchema(route.response) : null;
    if (extended === null) return route;
    const handle: Route<Principal>['handle'] = async (request) => {
      const result = await route.handle(request);
      const extend: Extend = (items) =>
        declared(deps.database.readable, request.caller, kind, items);
      if (result instanceof RawReply) return result;
      if (!(result instanceof Reply)) return extendBody(result, extended.isList, extend);
      const body = await extendBody(result.body, extended.isList, extend);
      return new Reply(result.status, body, result.headers);
    };
    return { ...route, response: extended.schema, handle };
  });
}

/** Null for a response without records that have an id. */
function extendedSchema(response: z.ZodType): { schema: z.ZodType; isList: boolean } | null {
  if (!(response instanceof z.ZodObject)) return null;
  const { id, data } = response.shape as Record<string, z.ZodType | undefined>;
  if (id !== undefined) return { schema: response.extend(member), isList: false };
  const item = data instanceof z.ZodArray ? data.element : null;
  if (!(item instanceof z.ZodObject) || !('id' in item.shape)) return null;
  return { schema: response.extend({ data: z.array(item.extend(member)) }), isList: true };
}

type Extend = (items: readonly RecordWithId[]) => Promise<DeclaredRecord[]>;

async function extendBody(body: unknown, isList: boolean, extend: Extend): Promise<unknown> {
  if (body instanceof StreamedList) {
    if (isList) {
      body.changeItems((items) => inParts(items as ListItems<RecordWithId>, extend));
    } else {
      const [{ declared_in }] = (await extend([body.members as unknown as RecordWithId])) as [
        DeclaredRecord,
      ];
      body.addMembers({ declared_in });
    }
    return body;
  }
  if (!isList) return (await extend([body as RecordWithId]))[0];
  const list = body as { readonly data: readonly RecordWithId[] };
  return { ...list, data: await extend(list.data) };
}

async function* inParts(
  items: ListItems<RecordWithId>,
  extend: Extend,
): AsyncGenerator<RecordWithId> {
  let part: RecordWithId[] = [];
  for await (const item of items) {
    part.push(item);
    if (part.length < itemsAtOnce) continue;
    yield* await extend(part);
    part = [];
  }
  yield* await extend(part);
}

async function declared(
  db: Db,
  { organisationId }: Principal,
  kind: KindName,
  items: readonly RecordWithId[],
): Promise<DeclaredRecord[]> {
  const ids = items.map(({ id }) => id);
  const places = await managedResources.listPlaces(db, organisationId, kind, ids);
  const byId = new Map(places.map((place) => [place.resource_id, declarationOf(place)]));
  return items.map((item) => ({ ...item, declared_in: byId.get(item.id) ?? null }));
}

function declarationOf({
  owner,
  workspace,
  name,
  source,
}: managedResources.DeclaredPlace): Declaration {
  const { repo, file, line, revision } = JSON.parse(source) as ManagedBy['source'];
  return {
    owner,
    workspace: workspace === '' ? null : workspace,
    name,
    source: repo,
    path: file ?? null,
    line: line ?? null,
    commit: revision,
  };
}
