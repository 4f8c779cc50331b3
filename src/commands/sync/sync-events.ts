/** Prints the events of the daemon to standard output: lines of text, or one JSON object a line. */

import { textReport } from '../../sync/report/text.ts';
import type { LoopEvent } from '../../sync/status/loop-event.ts';
import type { CommandIo } from '../shared/command.ts';
import { eventDocument, eventText, isQuiet, timeText } from '../sources/watch-event.ts';

/** Event names in `-o json`, in addition to those of the loop: `cycle`, `drift`, `failure`. */
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

  /** Prints an event of the daemon; `text` is for people. */
  emit(event: DaemonEvent, facts: Readonly<Record<string, unknown>>, text: string): void {
    const now = this.#now();
    if (this.#form === 'text') this.#io.stdout.write(`${timeText(now)}  ${text}\n`);
    else this.#io.stdout.writeJsonLine({ time: new Date(now).toISOString(), event, ...facts });
  }

  /** Prints an event of the loop: always the first, then only events with news. */
  emitLoopEvent(event: LoopEvent): void {
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
