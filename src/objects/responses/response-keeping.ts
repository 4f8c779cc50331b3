/** Knows how one response comes to be kept while it is made: whole at once, or event by event as its stream goes on. */
import type { Db } from '../../store/connection/db.ts';
import * as responses from '../../store/objects/responses.ts';
import { ObjectError } from '../object-request.ts';
import type { Owner } from '../owner.ts';
import type { EventCommits } from './event-commits.ts';
import { eventText, numberOf } from './event-lines.ts';
import { EventRow } from './event-row.ts';
import { endOf } from './response-events.ts';
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
  /** Of all streams of this process. */
  readonly commits: EventCommits;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Of the input of one response, and of what it answers; more fits into no packet of a database. */
const keptBytesMax = 8 * 1024 * 1024;
/** How long a process that gives no sign of life is taken to be at work. */
const aliveMs = 60_000;
const signEveryMs = 20_000;
/** While events come: so long is one that was cancelled gone on with. */
const signWithEventsEveryMs = 1_000;

/** States in which nothing more comes. */
const ended = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

export class ResponseKeeping {
  readonly #response: NewResponse;
  readonly #options: KeepingOptions;
  readonly #input: string;
  /** As it was written last; null before it was. */
  #record: ResponseRecord | null = null;
  #isStored = false;
  readonly #events = new EventRow();
  #nextNumber = 0;
  /** All events before this number are kept. */
  #keptBefore = 0;
  #signedAtMs = 0;
  #sign: NodeJS.Timeout | null = null;
  /** One that the timer has begun to give. */
  #signing: Promise<void> | null = null;
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

  /** Data of events, in their order. They are kept before this resolves, so that whoever is told them finds them again. */
  async events(lines: readonly string[]): Promise<void> {
    if (this.#isOver) return;
    for (const line of lines) await this.#event(line);
    if (this.#isOver || this.#record === null) return;
    if (!this.#events.isWritten) await this.#flush();
  }

  /** The stream broke off, unless it is over; yields the event that says so. */
  async breakOff(message: string): Promise<string> {
    if (this.isUnwanted) return this.#endOfUnwanted();
    const isOver = this.#isOver;
    this.#stopSigns();
    if (isOver || this.#record === null) return '';
    const response = failedRecord(this.#record, message);
    const type = 'response.failed';
    const line = JSON.stringify({ type, sequence_number: this.#nextNumber, response });
    await this.#event(line);
    return this.isUnwanted ? this.#endOfUnwanted() : eventText(line);
  }

  async #event(line: string): Promise<void> {
    const { response } = JSON.parse(line) as { readonly response?: ResponseRecord };
    this.#events.add(line);
    this.#nextNumber = numberOf(line) + 1;
    if (response === undefined) return;
    this.#record = response;
    if (ended.has(response.status)) await this.#finish();
  }

  async #flush(): Promise<void> {
    // They stand in the row of the response until there is more of it.
    if (!this.#isStored) return this.#insert(this.#events.packedRest());
    if (performance.now() - this.#signedAtMs >= signWithEventsEveryMs) await this.#giveSign();
    if (this.#isOver) return;
    await this.#events.write(this.#options.commits, this.#place);
    this.#keptBefore = this.#nextNumber;
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
    this.#keptBefore = this.#nextNumber;
    this.#signedAtMs = performance.now();
    if (!isOpen) this.#stopSigns();
    else this.#sign = setInterval(() => this.#signByItself(), signEveryMs).unref();
  }

  async #finish(): Promise<void> {
    const lastEvents = this.#events.packedRest();
    const record = this.#record!;
    if (!this.#isStored) return this.#insert(lastEvents);
    if (this.#sign !== null) clearInterval(this.#sign);
    // Come after the end, it would take that for another's.
    await this.#signing;
    const { status } = record;
    const written = { status, alive_until: null, record: JSON.stringify(record) };
    await this.#update({ ...written, last_events: lastEvents });
    this.#stopSigns();
  }

  #signByItself(): void {
    this.#signing = this.#giveSign().catch(() => undefined);
  }

  async #giveSign(): Promise<void> {
    this.#signedAtMs = performance.now();
    await this.#update({ alive_until: this.#options.now() + aliveMs });
  }

  async #update(set: Parameters<typeof responses.update>[2]): Promise<void> {
    const isOpen = await responses.update(this.#options.db, this.#place, set);
    if (isOpen || this.#isOver) return;
    this.isUnwanted = true;
    this.#stopSigns();
  }

  /** As whoever asks for its events is told it; nothing of one that is deleted, and what came after that goes, too. */
  async #endOfUnwanted(): Promise<string> {
    const { db } = this.#options;
    const { id, owner } = this.#response;
    const row = await responses.find(db, this.#place);
    if (row !== undefined) return endOf(row, this.#keptBefore);
    await responses.deleteEvents(db, owner.organisationId, [id]);
    return '';
  }

  get #place(): responses.ResponsePlace {
    return { ...this.#response.owner, id: this.#response.id };
  }

  #stopSigns(): void {
    if (this.#sign !== null) clearInterval(this.#sign);
    this.#isOver = true;
  }
}
