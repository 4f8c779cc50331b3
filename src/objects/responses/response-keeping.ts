/** Stores one response while it is created: as a whole, or event by event during its stream. */
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
  /** Null for the first response of a conversation. */
  readonly rootId: string;
  /** Input of the request, without the previous turns. */
  readonly input: unknown;
}

export interface KeepingOptions {
  readonly db: Db;
  /** Shared by all streams of this process. */
  readonly commits: EventCommits;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Maximum size of the stored input and output of one response; the database accepts no larger packet. */
const keptBytesMax = 8 * 1024 * 1024;
/** After this time without a renewal the process counts as dead. */
const aliveMs = 60_000;
const signEveryMs = 20_000;
/** Renewal interval while events arrive, which bounds how long a cancelled response continues. */
const signWithEventsEveryMs = 1_000;

/** Final states. */
const ended = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

export class ResponseKeeping {
  readonly #response: NewResponse;
  readonly #options: KeepingOptions;
  readonly #input: string;
  /** As written last; null before that. */
  #record: ResponseRecord | null = null;
  #isStored = false;
  readonly #events = new EventRow();
  #nextNumber = 0;
  /** All events before this number are stored. */
  #keptBefore = 0;
  #signedAtMs = 0;
  #sign: NodeJS.Timeout | null = null;
  /** The renewal that the timer has started. */
  #signing: Promise<void> | null = null;
  #isOver = false;
  /** Whether the response was cancelled or deleted meanwhile. */
  isUnwanted = false;

  /** @throws ObjectError for an input that is too large to be stored */
  constructor(response: NewResponse, options: KeepingOptions) {
    this.#response = response;
    this.#options = options;
    this.#input = JSON.stringify(inputItems(response.id, response.input));
    if (Buffer.byteLength(this.#input) > keptBytesMax) {
      const message = `The input has more than ${keptBytesMax} bytes and cannot be stored: send store: false`;
      throw new ObjectError('invalid_request', message, 'input');
    }
  }

  /** The current record; null before it is stored. */
  get record(): ResponseRecord | null {
    return this.#isStored ? this.#record : null;
  }

  /** Stores a complete response. */
  async whole(record: ResponseRecord): Promise<void> {
    this.#record = record;
    await this.#insert(null);
  }

  /** Stores the data of events in their order. Resolves once they are stored, so a caller can read them again. */
  async events(lines: readonly string[]): Promise<void> {
    if (this.#isOver) return;
    for (const line of lines) await this.#event(line);
    if (this.#isOver || this.#record === null) return;
    if (!this.#events.isWritten) await this.#flush();
  }

  /** Ends a stream that broke off, unless it is over. Returns the final event. */
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
    // The first events are stored in the row of the response.
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
      organisation_id: owner.organisationId,
      id,
      workspace_id: owner.workspaceId,
      api_key_id: owner.apiKeyId,
      root_id: rootId,
      previous_id: previousId,
      status: record.status,
      alive_until: isOpen ? now() + aliveMs : null,
      input: this.#input,
      record: JSON.stringify(record),
      last_events: lastEvents,
      created_at: now(),
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
    // A renewal after the end would treat the response as cancelled by another process.
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

  /** Returns the final event of a cancelled response. Of a deleted one, removes events written after the deletion. */
  async #endOfUnwanted(): Promise<string> {
    const { db } = this.#options;
    const { id, owner } = this.#response;
    const row = await responses.find(db, this.#place);
    if (row !== undefined) return endOf(row, this.#keptBefore);
    await responses.deleteEvents(db, owner.organisationId, [id]);
    return '';
  }

  get #place(): responses.ResponseKey {
    return { ...this.#response.owner, id: this.#response.id };
  }

  #stopSigns(): void {
    if (this.#sign !== null) clearInterval(this.#sign);
    this.#isOver = true;
  }
}
