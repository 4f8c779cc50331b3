/** Knows how the daemon tells what happens, on standard output: lines of text, or one JSON object a line. */

import { textReport } from '../../sync/report/text.ts';
import type { LoopEvent } from '../../sync/status/loop-event.ts';
import type { CommandIo } from '../shared/command.ts';
import { eventDocument, eventText, isQuiet, timeText } from '../sources/watch-event.ts';

/** The names that an event has in `-o json`, beside those of the loop: `cycle`, `drift`, `failure`. */
export type DaemonEvent =
  | 'started'
  | 'leading'
  | 'standby'
  | 'noStatus'
  | 'undelivered'
  | 'stopped';

export class SyncEvents {
  readonly #form: 'text' | 'json';
  readonly #io: Pick<CommandIo, 'stdout'>;
  readonly #now: () => number;
  #isFirst = true;

  constructor(form: 'text' | 'json', io: Pick<CommandIo, 'stdout'>, now: () => number) {
    this.#form = form;
    this.#io = io;
    this.#now = now;
  }

  /** Of the daemon itself; `text` is what people read. */
  tell(event: DaemonEvent, facts: Readonly<Record<string, unknown>>, text: string): void {
    const now = this.#now();
    if (this.#form === 'text') this.#io.stdout.write(`${timeText(now)}  ${text}\n`);
    else this.#io.stdout.writeJsonLine({ time: new Date(now).toISOString(), event, ...facts });
  }

  /** Of the loop: the first as it is, afterwards only what is news. */
  tellWatch(event: LoopEvent): void {
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    if (!isFirst && isQuiet(event)) return;
    const now = this.#now();
    if (this.#form === 'json') {
      const time = new Date(now).toISOString();
      this.#io.stdout.writeJsonLine({ time, event: event.kind, ...eventDocument(event) });
    } else if (isFirst && isQuiet(event) && event.kind !== 'failure') {
      this.#io.stdout.write(`${timeText(now)}  ${textReport(event.result)}`);
    } else {
      this.#io.stdout.write(eventText(event, now));
    }
  }
}
