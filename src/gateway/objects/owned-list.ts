/** Lists the objects that one owner has at a provider: from the recorded ids, each as the provider returns it now. */
import {
  objectList,
  pageCursorNotFound,
  parseAnthropicPage,
  parseObjectPage,
} from '../../objects/object-page.ts';
import type { Owner } from '../../objects/owner.ts';
import type { Db } from '../../store/connection/db.ts';
import * as ownedObjects from '../../store/objects/owned-objects.ts';
import { Call } from '../../upstream/call.ts';
import { isAnthropicCaller } from '../callers/exchange.ts';
import { errorOf } from '../calls/attempt.ts';
import type { RequestContext } from '../calls/request-context.ts';
import { unmarked } from '../references/object-mark.ts';
import type { OwnedPath } from '../references/owned-path.ts';
import { extractObjects } from '../references/response-objects.ts';
import { authorizedCall } from '../targets/authorized-call.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { readWhole } from '../transfer/gather.ts';
import { recordDeletion, rowsOf } from './object-recorder.ts';

interface ListOptions {
  readonly owner: Owner;
  readonly db: Db;
  readonly target: ResolvedTarget;
  /** Name of the provider in the table of owned objects. */
  readonly provider: string;
}

type Item = Readonly<Record<string, unknown>>;

/** Objects that are requested concurrently. */
const batchMax = 10;

/**
 * Returns one page, filled with objects that the provider still has. Missing ones are recorded as deleted.
 *
 * @throws GatewayError when the provider cannot be called
 */
export async function listOwned(
  context: RequestContext,
  owned: OwnedPath,
  options: ListOptions,
): Promise<object> {
  const query = new URLSearchParams(context.exchange.query);
  const isAnthropic = isAnthropicCaller(context.exchange.request);
  const page = isAnthropic ? parseAnthropicPage(query) : parseObjectPage(query);
  const of = { ...options.owner, kind: owned.kind, provider: options.provider };
  const beyond = (id: string | null, param: string) =>
    id === null ? null : rowOfCursor(options.db, of, id, param);
  const before = await beyond(page.before, 'before');
  let after: ownedObjects.ObjectAnchor | null = await beyond(page.after, 'after');
  const matching: Item[] = [];
  while (matching.length <= page.limit) {
    const limit = Math.min(batchMax, page.limit + 1 - matching.length);
    const { order } = page;
    const rows = await ownedObjects.list(options.db, of, { limit, after, before, order });
    const items = await Promise.all(rows.map((row) => itemOf(context, options, row)));
    matching.push(
      ...(items.filter((item) => item !== null && matchesFilters(item, query)) as Item[]),
    );
    after = rows.at(-1) ?? null;
    if (rows.length < limit) break;
  }
  const pageItems = matching.slice(0, page.limit);
  await recordItems(context, owned, options, pageItems);
  const list = objectList(pageItems, matching.length > page.limit);
  return isAnthropic ? { ...list, next_page: list.has_more ? list.last_id : null } : list;
}

/** Lists also contain files that a batch has written, and models that a job has created. */
function recordItems(
  { exchange }: RequestContext,
  owned: OwnedPath,
  { owner, db, target }: ListOptions,
  items: readonly Item[],
): Promise<void> {
  const objects = items.flatMap((item) => extractObjects(owned, 'GET', item));
  return ownedObjects.insertAll(db, rowsOf(objects, { owner, target, now: exchange.now }));
}

/** Query parameters that filter by a member of the object. */
const filters = ['purpose', 'model', 'name'];

function matchesFilters(item: Item, query: URLSearchParams): boolean {
  for (const name of filters) {
    if (query.has(name) && item[name] !== query.get(name)) return false;
  }
  const metadata = (item.metadata ?? {}) as Item;
  return [...query].every(([name, value]) => {
    const key = /^metadata\[(.+)\]$/.exec(name)?.[1];
    return key === undefined || metadata[key] === value;
  });
}

async function rowOfCursor(
  db: Db,
  of: Owner & { readonly kind: string },
  id: string,
  param: string,
): Promise<ownedObjects.ObjectAnchor> {
  const row = await ownedObjects.find(db, of, id);
  if (row !== undefined) return row;
  throw pageCursorNotFound(param);
}

const pageParams = [
  'limit',
  'order',
  'order_by',
  'after',
  'before',
  'after_id',
  'before_id',
  'page',
];

function isListParam(name: string): boolean {
  return pageParams.includes(name) || filters.includes(name) || name.startsWith('metadata[');
}

/** Null when the provider no longer has the object. */
async function itemOf(
  { services, caller, exchange }: RequestContext,
  { target, db }: ListOptions,
  row: ownedObjects.OwnedObject,
): Promise<Item | null> {
  const [path, search = ''] = target.call.path.split('?', 2);
  const own = new URLSearchParams(search);
  for (const name of [...own.keys()]) if (isListParam(name)) own.delete(name);
  const query = own.size === 0 ? '' : `?${own}`;
  const item = `${path}/${encodeURIComponent(row.object_id)}${query}`;
  const call = new Call(services.origins.at(target.call.origin), {
    ...(await authorizedCall(target)),
    path: item,
  });
  await call.responseStarted.catch((thrown: unknown) => {
    throw errorOf(thrown, target);
  });
  const { body, end } = await readWhole(call, { caller, lingerMs: 0, events: null, onBytes: null });
  if (call.status === 404) {
    await recordDeletion(db, row, exchange.now);
    return null;
  }
  if (call.status === 200 && end.kind === 'whole') {
    return unmarked(JSON.parse(body.toString('utf8')) as Item);
  }
  const message = `The provider answered with ${call.status} when its objects were listed`;
  throw new GatewayError('upstream_unreachable', message);
}
