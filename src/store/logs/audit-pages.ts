/** Finds a numbered page of the audit log without reading the rows before it.
 *
 * The log grows only at its newer end and loses only its oldest rows, so that the rows between two
 * settled rows never change. The offsets of page ends are remembered relative to a base row, after which no
 * older row can be committed any more. For each page only the rows newer than the base are counted, which
 * are those of the last minutes.
 */
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { ListMemory, noteOffset, offsetBefore, type RowOffset } from '../rows/list-memory.ts';
import * as auditLog from './audit-log.ts';

/** No change commits later than this after its time. */
const settledMs = 300_000;
/** More rows than numbered pages reach. */
const rowsMax = 200_000;

export interface NumberedFilter extends Omit<auditLog.AuditFilter, 'before'> {
  /** Whether `to` is the current time, which advances. */
  readonly isOpen: boolean;
}

interface RememberedLog {
  /** Offsets of page ends in list order, starting at the base row. */
  readonly offsets: RowOffset[];
  /** The newest row that had settled at `seenAt`. */
  readonly base: auditLog.AuditPosition;
  /** Milliseconds since the epoch. */
  readonly seenAt: number;
}

const memories = new WeakMap<Db, ListMemory<RememberedLog>>();

/** Up to `limit` rows, newest first, from `offset` on. The caller's limit is one more than a page. */
export async function listNumbered(
  db: Db,
  organisationId: string,
  filter: NumberedFilter,
  page: Page,
  now: number,
): Promise<auditLog.AuditRow[]> {
  const log = new NumberedLog(db, organisationId, filter);
  if (page.offset === 0) return log.read(null, page);
  const seen = await log.remembered(now);
  if (seen === null) return log.read(null, page);
  const newer = await log.countNewer(seen.base, null);
  const first = page.offset - newer;
  if (first < 1) return log.read(null, page);
  const { offsets } = seen;
  const near = offsetBefore(offsets, first);
  const rest = { limit: page.limit, offset: first - near.offset };
  const rows = await log.read(toPosition(near.id!), rest);
  const last = rows[page.limit - 2];
  if (last !== undefined) {
    const end = { offset: first + page.limit - 1, id: toText(last) };
    noteOffset({ offsets, total: rowsMax }, end);
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

  read(before: auditLog.AuditPosition | null, page: Page): Promise<auditLog.AuditRow[]> {
    return auditLog.list(this.#db, this.#organisationId, { ...this.#filter, before }, page);
  }

  countNewer(
    position: auditLog.AuditPosition,
    upTo: auditLog.AuditPosition | null,
  ): Promise<number> {
    return auditLog.countNewer(this.#db, this.#organisationId, this.#filter, position, upTo);
  }

  /** Null when no row has settled. */
  async remembered(now: number): Promise<RememberedLog | null> {
    const { equal, actions, isOpen, to } = this.#filter;
    const key = JSON.stringify([this.#organisationId, equal, actions, isOpen ? null : to]);
    const memory = memoryOf(this.#db);
    const cached = memory.find(key);
    if (cached !== undefined && now - cached.seenAt < settledMs) return cached;
    const settled = { ...this.#filter, to: Math.min(to, now - settledMs), before: null };
    const newest = { limit: 1, offset: 0 };
    const [base] = await auditLog.list(this.#db, this.#organisationId, settled, newest);
    if (base === undefined) return null;
    const shift = cached === undefined ? 0 : await this.countNewer(cached.base, base);
    const offsets = cached?.offsets.map((one) => ({ ...one, offset: one.offset + shift })) ?? [];
    if (offsets[0]?.offset !== 1) offsets.unshift({ offset: 1, id: toText(base) });
    const { at, id } = base;
    const seen = { base: { at, id }, seenAt: now, offsets };
    memory.keep(key, seen);
    return seen;
  }
}

function memoryOf(db: Db): ListMemory<RememberedLog> {
  const existing = memories.get(db);
  if (existing !== undefined) return existing;
  const created = new ListMemory<RememberedLog>();
  memories.set(db, created);
  return created;
}

function toText({ at, id }: auditLog.AuditPosition): string {
  return `${at} ${id.toString('hex')}`;
}

function toPosition(text: string): auditLog.AuditPosition {
  const [at, id] = text.split(' ');
  return { at: Number(at), id: Buffer.from(id!, 'hex') };
}
