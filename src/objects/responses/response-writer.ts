/** Stores one response while it is created: as a whole, or event by event during its stream. */
import type { Database, Db } from '../../store/connection/db.ts';
import * as responses from '../../store/objects/responses.ts';
import { ObjectError } from '../object-request.ts';
import type { Owner } from '../owner.ts';
import type { ConversationTurn } from './conversation-turn.ts';
import type { EventBatchWriter } from './event-batch-writer.ts';
import { eventNumber, formatEvent } from './event-lines.ts';
import { EventRow } from './event-row.ts';
import { finalEvent } from './response-events.ts';
import { failedRecord, inputItems, parseInput, type ResponseRecord } from './response-record.ts';

export interface NewResponse {
  readonly id: string;
  readonly owner: Owner;
  /** Null for the first response of a conversation. */
  readonly previousId: string | null;
  readonly rootId: string;
  /** Input of the request, without the previous turns. */
  readonly input: unknown;
  /** The conversation that receives the items of the response; null for none. */
  readonly turn: ConversationTurn | null;
}

export interface ResponseWriterOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  /** Shared by all streams of this process. */
  readonly commits: EventBatchWriter;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Maximum size of the stored input and output of one response; the database accepts no larger packet. */
const storedBytesMax = 8 * 1024 * 1024;
/** After this time without a renewal the process counts as dead. */
const aliveMs = 60_000;
const renewalMs = 20_000;
/** Renewal interval while events arrive, which bounds how long a cancelled response continues. */
const renewalWithEventsMs = 1_000;

/** Final states. */
const finalStates = new Set(['completed', 'incomplete', 'failed', 'cancelled']);
/** Final states after which a conversation contains the response. */
const continuedStates = new Set(['completed', 'incomplete']);

export class ResponseWriter {
  readonly #response: NewResponse;
  readonly #options: ResponseWriterOptions;
  readonly #input: string;
  /** As written last; null before that. */
  #record: ResponseRecord | null = null;
  #isStored = false;
  readonly #events = new EventRow();
  #nextNumber = 0;
  /** All events before this number are stored. */
  #storedBefore = 0;
  #renewedAtMs = 0;
  #renewalTimer: NodeJS.Timeout | null = null;
  /** The renewal that the timer has started. */
  #renewal: Promise<void> | null = null;
  #isOver = false;
  /** Whether the response was cancelled or deleted meanwhile. */
  isCancelled = false;

  /** @throws ObjectError for an input that is too large to be stored */
  constructor(response: NewResponse, options: ResponseWriterOptions) {
    this.#response = response;
    this.#options = options;
    this.#input = JSON.stringify(inputItems(response.id, response.input));
    if (Buffer.byteLength(this.#input) > storedBytesMax) {
      const message = `The input has more than ${storedBytesMax} bytes and cannot be stored: send store: false`;
      throw new ObjectError('invalid_request', message, 'input');
    }
  }

  /** The current record; null before it is stored. */
  get record(): ResponseRecord | null {
    return this.#isStored ? this.#record : null;
  }

  /** Stores a complete response. */
  async writeWhole(record: ResponseRecord): Promise<void> {
    this.#record = record;
    await this.#insert(null);
  }

  /** Stores the data of events in their order. Resolves once they are stored, so a caller can read them again. */
  async writeEvents(lines: readonly string[]): Promise<void> {
    if (this.#isOver) return;
    for (const line of lines) await this.#event(line);
    if (this.#isOver || this.#record === null) return;
    if (!this.#events.isWritten) await this.#flush();
  }

  /** Ends a stream that broke off, unless it is over. Returns the final event. */
  async fail(message: string): Promise<string> {
    if (this.isCancelled) return this.#finishCancelled();
    const isOver = this.#isOver;
    this.#stopRenewals();
    if (isOver || this.#record === null) return '';
    const response = failedRecord(this.#record, message);
    const type = 'response.failed';
    const line = JSON.stringify({ type, sequence_number: this.#nextNumber, response });
    await this.#event(line);
    return this.isCancelled ? this.#finishCancelled() : formatEvent(line);
  }

  async #event(line: string): Promise<void> {
    const { response } = JSON.parse(line) as { readonly response?: ResponseRecord };
    this.#events.add(line);
    this.#nextNumber = eventNumber(line) + 1;
    if (response === undefined) return;
    this.#record = response;
    if (finalStates.has(response.status)) await this.#finish();
  }

  async #flush(): Promise<void> {
    // The first events are stored in the row of the response.
    if (!this.#isStored) return this.#insert(this.#events.packUnwritten());
    if (performance.now() - this.#renewedAtMs >= renewalWithEventsMs) await this.#renew();
    if (this.#isOver) return;
    await this.#events.write(this.#options.commits, this.#key);
    this.#storedBefore = this.#nextNumber;
  }

  async #insert(lastEvents: Buffer | null): Promise<void> {
    const { now } = this.#options;
    const record = this.#record!;
    const isOpen = !finalStates.has(record.status);
    const aliveUntil = isOpen ? now() + aliveMs : null;
    const row = newRow(this.#response, record, aliveUntil, now());
    const stored = { ...row, input: this.#input, last_events: lastEvents };
    await this.#write((db) => responses.insert(db, stored).then(() => true));
    this.#isStored = true;
    this.#storedBefore = this.#nextNumber;
    this.#renewedAtMs = performance.now();
    if (!isOpen) this.#stopRenewals();
    else this.#renewalTimer = setInterval(() => this.#renewInBackground(), renewalMs).unref();
  }

  async #finish(): Promise<void> {
    const lastEvents = this.#events.packUnwritten();
    const record = this.#record!;
    if (!this.#isStored) return this.#insert(lastEvents);
    if (this.#renewalTimer !== null) clearInterval(this.#renewalTimer);
    // A renewal after the end would treat the response as cancelled by another process.
    await this.#renewal;
    const { status } = record;
    const written = { status, alive_until: null, record: JSON.stringify(record) };
    await this.#update({ ...written, last_events: lastEvents });
    this.#stopRenewals();
  }

  #renewInBackground(): void {
    this.#renewal = this.#renew().catch(() => undefined);
  }

  async #renew(): Promise<void> {
    this.#renewedAtMs = performance.now();
    await this.#update({ alive_until: this.#options.now() + aliveMs });
  }

  async #update(set: Parameters<typeof responses.update>[2]): Promise<void> {
    const isOpen = await this.#write((db) => responses.update(db, this.#key, set));
    if (isOpen || this.#isOver) return;
    this.isCancelled = true;
    this.#stopRenewals();
  }

  /** Returns the final event of a cancelled response. For a deleted one, removes events written after the deletion. */
  async #finishCancelled(): Promise<string> {
    const { db } = this.#options.database;
    const { id, owner } = this.#response;
    const row = await responses.find(db, this.#key);
    if (row !== undefined) return finalEvent(row, this.#storedBefore);
    await responses.deleteEvents(db, owner.organisationId, [id]);
    return '';
  }

  #write(write: (db: Db) => Promise<boolean>): Promise<boolean> {
    const { turn } = this.#response;
    const ended = { input: this.#input, record: this.#record! };
    return writeWithTurn(this.#options.database, turn, ended, write);
  }

  get #key(): responses.ResponseKey {
    return { ...this.#response.owner, id: this.#response.id };
  }

  #stopRenewals(): void {
    if (this.#renewalTimer !== null) clearInterval(this.#renewalTimer);
    this.#isOver = true;
  }
}

/** Writes a response and, if it has completed, adds its items to the conversation in the same transaction. */
async function writeWithTurn(
  { db, transaction }: ResponseWriterOptions['database'],
  turn: ConversationTurn | null,
  { input, record }: { readonly input: string; readonly record: ResponseRecord },
  write: (db: Db) => Promise<boolean>,
): Promise<boolean> {
  if (turn === null || !continuedStates.has(record.status)) return write(db);
  return transaction(async (tx) => {
    const isWritten = await write(tx);
    if (isWritten) await turn.append(tx, [...parseInput({ input }), ...record.output]);
    return isWritten;
  });
}

/** Columns of a new row that its request and its record determine. */
function newRow(
  { owner, id, previousId, rootId }: NewResponse,
  record: ResponseRecord,
  aliveUntil: number | null,
  createdAt: number,
) {
  return {
    organisation_id: owner.organisationId,
    id,
    workspace_id: owner.workspaceId,
    api_key_id: owner.apiKeyId,
    root_id: rootId,
    previous_id: previousId,
    status: record.status,
    alive_until: aliveUntil,
    record: JSON.stringify(record),
    created_at: createdAt,
  };
}
