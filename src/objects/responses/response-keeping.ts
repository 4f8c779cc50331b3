/** Knows how one response comes to be kept while it is made: whole at once, or event by event as its stream goes on. */
import type { Db } from '../../store/connection/db.ts';
import * as responseEvents from '../../store/tables/response-events.ts';
import * as responses from '../../store/tables/responses.ts';
import { ObjectError } from '../object-request.ts';
import type { Owner } from '../owner.ts';
import { eventText, numberOf, packedEvents } from './event-lines.ts';
import { failedRecord, inputItems, type ResponseRecord } from './response-record.ts';

export interface NewResponse {
  readonly id: string;
  readonly owner: Owner;
  /** Null for one that goes on from none. */
  readonly previousId: string | null;
  readonly rootId: string;
  /** As it was asked, without what it goes on from. */
  readonly input: unknown;
}

export interface KeepingOptions {
  readonly db: Db;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Of the input of one response, and of what it answers; more fits into no packet of a database. */
const keptBytesMax = 8 * 1024 * 1024;
/** How long a process that gives no sign of life is taken to be at work. */
const aliveMs = 60_000;
const signEveryMs = 20_000;
/** Events wait no longer, and are no more, before they are written. */
const flushEveryMs = 1_000;
const waitingCharsMax = 256 * 1024;

/** States in which nothing more comes. */
const ended = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

export class ResponseKeeping {
  readonly #response: NewResponse;
  readonly #options: KeepingOptions;
  readonly #input: string;
  /** As it was written last; null before it was. */
  #record: ResponseRecord | null = null;
  #isStored = false;
  #waiting: string[] = [];
  #waitingChars = 0;
  #flushedAtMs = Number.NEGATIVE_INFINITY;
  #nextNumber = 0;
  #sign: NodeJS.Timeout | null = null;
  #isOver = false;
  /** It was cancelled or deleted meanwhile. */
  isUnwanted = false;

  /** @throws ObjectError for an input that is too large to be kept */
  constructor(response: NewResponse, options: KeepingOptions) {
    this.#response = response;
    this.#options = options;
    this.#input = JSON.stringify(inputItems(response.id, response.input));
    if (Buffer.byteLength(this.#input) > keptBytesMax) {
      const message = `The input has more than ${keptBytesMax} bytes, which is more than is kept: send store: false`;
      throw new ObjectError('invalid_request', message, 'input');
    }
  }

  /** As it is by now; null before it has begun, and where that is not kept yet. */
  get record(): ResponseRecord | null {
    return this.#isStored ? this.#record : null;
  }

  /** A response that is there as a whole. */
  async whole(record: ResponseRecord): Promise<void> {
    this.#record = record;
    await this.#insert(null);
  }

  /** Data of events, in their order. Those that end it are kept before this resolves. */
  async events(lines: readonly string[]): Promise<void> {
    if (this.#isOver) return;
    for (const line of lines) await this.#event(line);
    const isDue = performance.now() - this.#flushedAtMs >= flushEveryMs;
    if (this.#isOver || this.#record === null) return;
    if (isDue || this.#waitingChars > waitingCharsMax) await this.#flush();
  }

  /** The stream broke off, unless it is over; yields the event that says so. */
  async breakOff(message: string): Promise<string> {
    const isOver = this.#isOver;
    this.#stopSigns();
    if (isOver || this.#record === null) return '';
    const response = failedRecord(this.#record, message);
    const type = 'response.failed';
    const line = JSON.stringify({ type, sequence_number: this.#nextNumber, response });
    await this.#event(line);
    return eventText(line);
  }

  async #event(line: string): Promise<void> {
    const { response } = JSON.parse(line) as { readonly response?: ResponseRecord };
    this.#waiting.push(line);
    this.#waitingChars += line.length;
    this.#nextNumber = numberOf(line) + 1;
    if (response === undefined) return;
    this.#record = response;
    if (ended.has(response.status)) await this.#finish(packedEvents(this.#waiting));
  }

  /** Kept before anybody learns its id. */
  async #flush(): Promise<void> {
    this.#flushedAtMs = performance.now();
    // They wait on: what has begun stands in its row until there is more of it.
    if (!this.#isStored) return this.#insert(packedEvents(this.#waiting));
    await this.#giveSign();
    if (this.#isOver) return;
    const lines = this.#waiting;
    this.#waiting = [];
    this.#waitingChars = 0;
    await responseEvents.insert(this.#options.db, {
      organisation_id: this.#response.owner.organisationId,
      response_id: this.#response.id,
      first_number: numberOf(lines[0]!),
      events: packedEvents(lines),
    });
  }

  async #insert(lastEvents: Buffer | null): Promise<void> {
    const { owner, id, previousId, rootId } = this.#response;
    const { db, now } = this.#options;
    const record = this.#record!;
    const isOpen = !ended.has(record.status);
    await responses.insert(db, {
      ...{ organisation_id: owner.organisationId, id, workspace_id: owner.workspaceId },
      ...{ api_key_id: owner.apiKeyId, root_id: rootId, previous_id: previousId },
      ...{ status: record.status, alive_until: isOpen ? now() + aliveMs : null },
      ...{ input: this.#input, record: JSON.stringify(record) },
      ...{ last_events: lastEvents, created_at: now() },
    });
    this.#isStored = true;
    if (!isOpen) this.#stopSigns();
    else this.#sign = setInterval(() => void this.#giveSign().catch(() => {}), signEveryMs).unref();
  }

  async #finish(lastEvents: Buffer): Promise<void> {
    const { db } = this.#options;
    const record = this.#record!;
    if (!this.#isStored) return this.#insert(lastEvents);
    const { status } = record;
    const written = { status, alive_until: null, record: JSON.stringify(record) };
    await responses.update(db, this.#place, { ...written, last_events: lastEvents });
    this.#stopSigns();
  }

  async #giveSign(): Promise<void> {
    const { db, now } = this.#options;
    const isOpen = await responses.update(db, this.#place, { alive_until: now() + aliveMs });
    if (isOpen || this.#isOver) return;
    this.isUnwanted = true;
    this.#stopSigns();
  }

  get #place(): responses.ResponsePlace {
    return { ...this.#response.owner, id: this.#response.id };
  }

  #stopSigns(): void {
    if (this.#sign !== null) clearInterval(this.#sign);
    this.#isOver = true;
  }
}
