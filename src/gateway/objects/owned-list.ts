/** Knows how what one owner keeps with a provider is listed: by what the gateway has noted, each as the provider tells it now. */
import { anthropicPageOf, notInList, objectList, objectPageOf } from '../../objects/object-page.ts';
import type { Owner } from '../../objects/owner.ts';
import type { Db } from '../../store/connection/db.ts';
import * as ownedObjects from '../../store/tables/owned-objects.ts';
import { Call } from '../../upstream/call.ts';
import type { Calling } from '../answering/calling.ts';
import { errorOf } from '../calls/attempt.ts';
import { unmarked } from '../references/object-mark.ts';
import type { OwnedPath } from '../references/owned-path.ts';
import { toldObjects } from '../references/told-objects.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { gather } from '../transfer/gather.ts';
import { noteDeleted, rowsOf } from './noted-objects.ts';

interface ListOptions {
  readonly owner: Owner;
  readonly db: Db;
  readonly target: ResolvedTarget;
  /** As the ledger of objects knows it. */
  readonly provider: string;
}

type Item = Readonly<Record<string, unknown>>;

/** Asked for at once. */
const batchMax = 10;

/**
 * One page: as long as it can be of what the provider still has. What it has no more is noted.
 *
 * @throws GatewayError where the provider cannot be asked
 */
export async function listAt(
  calling: Calling,
  owned: OwnedPath,
  options: ListOptions,
): Promise<object> {
  const query = new URLSearchParams(calling.exchange.query);
  const isAnthropic = calling.exchange.request.headers['anthropic-version'] !== undefined;
  const page = isAnthropic ? anthropicPageOf(query) : objectPageOf(query);
  const of = { ...options.owner, kind: owned.kind, provider: options.provider };
  const beyond = (id: string | null, param: string) =>
    id === null ? null : placeOf(options.db, of, id, param);
  const before = await beyond(page.before, 'before');
  let after: ownedObjects.Beyond | null = await beyond(page.after, 'after');
  const found: Item[] = [];
  while (found.length <= page.limit) {
    const limit = Math.min(batchMax, page.limit + 1 - found.length);
    const rows = await ownedObjects.list(options.db, of, {
      ...{ limit, after, before },
      order: page.order,
    });
    const items = await Promise.all(rows.map((row) => itemOf(calling, options, row)));
    found.push(...(items.filter((item) => item !== null && isWanted(item, query)) as Item[]));
    after = rows.at(-1) ?? null;
    if (rows.length < limit) break;
  }
  const shown = found.slice(0, page.limit);
  await noteTold(calling, owned, options, shown);
  const list = objectList(shown, found.length > page.limit);
  return isAnthropic ? { ...list, next_page: list.has_more ? list.last_id : null } : list;
}

/** Files that a batch has written, and models that a job has made, are told in a list as well. */
function noteTold(
  { exchange }: Calling,
  owned: OwnedPath,
  { owner, db, target }: ListOptions,
  items: readonly Item[],
): Promise<void> {
  const told = items.flatMap((item) => toldObjects(owned, 'GET', item));
  return ownedObjects.insertAll(db, rowsOf(told, { owner, target, now: exchange.now }));
}

/** What else of an object than its place in the list may be asked for: files by what they are for, chats by their model. */
const filters = ['purpose', 'model', 'name'];

function isWanted(item: Item, query: URLSearchParams): boolean {
  for (const name of filters) {
    if (query.has(name) && item[name] !== query.get(name)) return false;
  }
  const metadata = (item.metadata ?? {}) as Item;
  return [...query].every(([name, value]) => {
    const key = /^metadata\[(.+)\]$/.exec(name)?.[1];
    return key === undefined || metadata[key] === value;
  });
}

async function placeOf(
  db: Db,
  of: Owner & { readonly kind: string },
  id: string,
  param: string,
): Promise<ownedObjects.Beyond> {
  const row = await ownedObjects.find(db, of, id);
  if (row !== undefined) return row;
  throw notInList(param);
}

const ofPage = ['limit', 'order', 'order_by', 'after', 'before', 'after_id', 'before_id', 'page'];

function isOfList(name: string): boolean {
  return ofPage.includes(name) || filters.includes(name) || name.startsWith('metadata[');
}

/** Null for one that the provider has no more. */
async function itemOf(
  { pipeline, caller, exchange }: Calling,
  { target, db }: ListOptions,
  row: ownedObjects.OwnedObject,
): Promise<Item | null> {
  const [path, search = ''] = target.call.path.split('?', 2);
  const own = new URLSearchParams(search);
  for (const name of [...own.keys()]) if (isOfList(name)) own.delete(name);
  const query = own.size === 0 ? '' : `?${own}`;
  const item = `${path}/${encodeURIComponent(row.object_id)}${query}`;
  const call = new Call(pipeline.origins.at(target.call.origin), { ...target.call, path: item });
  await call.begun.catch((thrown: unknown) => {
    throw errorOf(thrown);
  });
  const { body, end } = await gather(call, { caller, lingerMs: 0, events: null });
  if (call.status === 404) {
    await noteDeleted(db, row, exchange.now);
    return null;
  }
  if (call.status === 200 && end.kind === 'whole') {
    return unmarked(JSON.parse(body.toString('utf8')) as Item);
  }
  const message = `The provider answered with ${call.status} when it was asked for what it keeps`;
  throw new GatewayError('upstream_unreachable', message);
}
