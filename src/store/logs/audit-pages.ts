/** Knows how a page of the audit log is found by its number without a walk over the rows before it.
 *
 * The log only grows at its newer end, and loses its oldest rows: what stands between two of its rows stays as it is. So it is
 * remembered where pages ended, counted from a row that nothing comes behind any more, and of each page
 * only the rows before that one are counted, which are those of the last minutes.
 */
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { ListMemory, notePlace, type Place, placeBefore } from '../rows/list-memory.ts';
import * as auditLog from './audit-log.ts';

/** Longer after its moment no change is committed. */
const settledMs = 300_000;
/** More than pages by number lead over. */
const rowsMost = 200_000;

export interface NumberedFilter extends Omit<auditLog.AuditFilter, 'before'> {
  /** Whether `to` is now, and another one later. */
  readonly isOpen: boolean;
}

interface SeenLog {
  /** In the order of the list, from its first row on. */
  readonly places: Place[];
  /** That row. */
  readonly base: auditLog.AuditPlace;
  /** When that was the newest that had settled, milliseconds since the epoch. */
  readonly seenAt: number;
}

const memories = new WeakMap<Db, ListMemory<SeenLog>>();

/** Up to `limit` of an organisation's, newest first, from `offset` on; whoever asks wants one row more than a page has. */
export async function listNumbered(
  db: Db,
  organisationId: string,
  filter: NumberedFilter,
  page: Page,
  now: number,
): Promise<auditLog.AuditRow[]> {
  const log = new NumberedLog(db, organisationId, filter);
  if (page.offset === 0) return log.read(null, page);
  const seen = await log.seen(now);
  if (seen === null) return log.read(null, page);
  const newer = await log.countNewer(seen.base, null);
  const first = page.offset - newer;
  if (first < 1) return log.read(null, page);
  const { places } = seen;
  const near = placeBefore(places, first);
  const rest = { limit: page.limit, offset: first - near.offset };
  const rows = await log.read(toPlace(near.id!), rest);
  const last = rows[page.limit - 2];
  if (last !== undefined) {
    const place = { offset: first + page.limit - 1, id: toText(last) };
    notePlace({ places, total: rowsMost }, place);
  }
  return rows;
}

class NumberedLog {
  readonly #db: Db;
  readonly #organisationId: string;
  readonly #filter: NumberedFilter;

  constructor(db: Db, organisationId: string, filter: NumberedFilter) {
    this.#db = db;
    this.#organisationId = organisationId;
    this.#filter = filter;
  }

  read(before: auditLog.AuditPlace | null, page: Page): Promise<auditLog.AuditRow[]> {
    return auditLog.list(this.#db, this.#organisationId, { ...this.#filter, before }, page);
  }

  countNewer(place: auditLog.AuditPlace, upTo: auditLog.AuditPlace | null): Promise<number> {
    return auditLog.countNewer(this.#db, this.#organisationId, this.#filter, place, upTo);
  }

  /** Null where no row is old enough. */
  async seen(now: number): Promise<SeenLog | null> {
    const { equal, actions, isOpen, to } = this.#filter;
    const key = JSON.stringify([this.#organisationId, equal, actions, isOpen ? null : to]);
    const memory = memoryOf(this.#db);
    const known = memory.find(key);
    if (known !== undefined && now - known.seenAt < settledMs) return known;
    const settled = { ...this.#filter, to: Math.min(to, now - settledMs), before: null };
    const newest = { limit: 1, offset: 0 };
    const [base] = await auditLog.list(this.#db, this.#organisationId, settled, newest);
    if (base === undefined) return null;
    const shift = known === undefined ? 0 : await this.countNewer(known.base, base);
    const places = known?.places.map((one) => ({ ...one, offset: one.offset + shift })) ?? [];
    if (places[0]?.offset !== 1) places.unshift({ offset: 1, id: toText(base) });
    const { at, id } = base;
    const seen = { base: { at, id }, seenAt: now, places };
    memory.keep(key, seen);
    return seen;
  }
}

function memoryOf(db: Db): ListMemory<SeenLog> {
  const known = memories.get(db);
  if (known !== undefined) return known;
  const made = new ListMemory<SeenLog>();
  memories.set(db, made);
  return made;
}

function toText({ at, id }: auditLog.AuditPlace): string {
  return `${at} ${id.toString('hex')}`;
}

function toPlace(text: string): auditLog.AuditPlace {
  const [at, id] = text.split(' ');
  return { at: Number(at), id: Buffer.from(id!, 'hex') };
}
