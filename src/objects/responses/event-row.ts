/** Collects the events of a stream for the database row that is being written. */
import type { ResponseKey } from '../../store/objects/responses.ts';
import type { EventBatchWriter } from './event-batch-writer.ts';
import { eventNumber, packEvents } from './event-lines.ts';

/** The row is rewritten with each added event until it has this size. */
const rowCharsMax = 16 * 1024;

export class EventRow {
  /** Data of the events in the row. */
  #lines: string[] = [];
  #chars = 0;
  /** Number of events that are stored. */
  #written = 0;

  add(line: string): void {
    this.#lines.push(line);
    this.#chars += line.length;
  }

  get isWritten(): boolean {
    return this.#lines.length === this.#written;
  }

  /** The events that are not stored yet. */
  packUnwritten(): Buffer {
    return packEvents(this.#lines.slice(this.#written));
  }

  /** Resolves once all events are stored. */
  async write(commits: EventBatchWriter, { organisationId, id }: ResponseKey): Promise<void> {
    await commits.write({
      organisation_id: organisationId,
      response_id: id,
      first_number: eventNumber(this.#lines[0]!),
      events: packEvents(this.#lines),
    });
    this.#written = this.#lines.length;
    if (this.#chars < rowCharsMax) return;
    this.#lines = [];
    this.#chars = 0;
    this.#written = 0;
  }
}
