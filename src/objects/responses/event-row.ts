/** Knows which events of a stream are not written yet, and which stand with them in one row. */
import type { ResponsePlace } from '../../store/objects/responses.ts';
import type { EventCommits } from './event-commits.ts';
import { numberOf, packedEvents } from './event-lines.ts';

/** A row is written anew with each event that it takes, until it has so much. */
const rowCharsMax = 16 * 1024;

export class EventRow {
  /** Data of the events of the row. */
  #lines: string[] = [];
  #chars = 0;
  /** How many of them are written. */
  #written = 0;

  add(line: string): void {
    this.#lines.push(line);
    this.#chars += line.length;
  }

  get isWritten(): boolean {
    return this.#lines.length === this.#written;
  }

  /** Those that no row has. */
  packedRest(): Buffer {
    return packedEvents(this.#lines.slice(this.#written));
  }

  /** Resolves once all are there. */
  async write(commits: EventCommits, { organisationId, id }: ResponsePlace): Promise<void> {
    await commits.write({
      organisation_id: organisationId,
      response_id: id,
      first_number: numberOf(this.#lines[0]!),
      events: packedEvents(this.#lines),
    });
    this.#written = this.#lines.length;
    if (this.#chars < rowCharsMax) return;
    this.#lines = [];
    this.#chars = 0;
    this.#written = 0;
  }
}
