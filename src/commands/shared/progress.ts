/** Knows how a long run tells how far it is: a line at a terminal, events for programs, nothing elsewhere. */
import type { Clock } from '../../clock.ts';
import type { TextOutput } from './text-output.ts';

/** A run that is over sooner has nothing to tell. */
const firstAfterMs = 500;
const lineEveryMs = 100;
const eventEveryMs = 5_000;
/** Sooner nothing can be said of the rest. */
const estimateAfterMs = 2_000;

export class Progress {
  readonly #stderr: TextOutput;
  readonly #form: 'text' | 'json';
  readonly #clock: Clock;
  /** Of the first change that is over, which no question to the user comes after. */
  #startedAt: number | null = null;
  #toldAt: number | null = null;

  constructor(stderr: TextOutput, form: 'text' | 'json', clock: Clock) {
    this.#stderr = stderr;
    this.#form = form;
    this.#clock = clock;
  }

  /** Asked after each change; tells of few. */
  tell({ done, total }: { readonly done: number; readonly total: number }): void {
    const now = this.#clock.now();
    this.#startedAt ??= now;
    const elapsedMs = now - this.#startedAt;
    const isTerminal = this.#stderr.isTerminal;
    if (!isTerminal && this.#form !== 'json') return;
    const isDue =
      this.#toldAt === null
        ? elapsedMs >= (isTerminal ? firstAfterMs : eventEveryMs)
        : now - this.#toldAt >= (isTerminal ? lineEveryMs : eventEveryMs);
    if (!isDue) return;
    this.#toldAt = now;
    const leftMs = elapsedMs < estimateAfterMs ? null : ((total - done) * elapsedMs) / done;
    if (isTerminal) {
      const rest = leftMs === null ? '' : `, about ${duration(leftMs)} left`;
      this.#stderr.writeStatus(`${done} of ${total} changes${rest}`);
    } else {
      const left = leftMs === null ? null : Math.round(leftMs);
      this.#stderr.writeJsonLine({ event: 'progress', done, total, estimated_left_ms: left });
    }
  }

  /** The line is gone before anything else is said. */
  end(): void {
    this.#stderr.writeStatus('');
  }
}

function duration(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}
