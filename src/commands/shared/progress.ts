/** Shows the progress of a long run: a status line at a terminal, events for programs, else nothing. */
import type { Clock } from '../../clock.ts';
import type { TextOutput } from './text-output.ts';

/** Shorter runs show no progress. */
const firstAfterMs = 500;
const lineEveryMs = 100;
const eventEveryMs = 5_000;
/** Earlier estimates would be unreliable. */
const estimateAfterMs = 2_000;

export class Progress {
  readonly #stderr: TextOutput;
  readonly #form: 'text' | 'json';
  readonly #clock: Clock;
  /** Time of the first completed change, after all questions to the user. */
  #startedAt: number | null = null;
  #reportedAt: number | null = null;

  constructor(stderr: TextOutput, form: 'text' | 'json', clock: Clock) {
    this.#stderr = stderr;
    this.#form = form;
    this.#clock = clock;
  }

  /** Called after each change; reports at intervals. */
  report({ done, total }: { readonly done: number; readonly total: number }): void {
    const now = this.#clock.now();
    this.#startedAt ??= now;
    const elapsedMs = now - this.#startedAt;
    const isTerminal = this.#stderr.isTerminal;
    if (!isTerminal && this.#form !== 'json') return;
    const isDue =
      this.#reportedAt === null
        ? elapsedMs >= (isTerminal ? firstAfterMs : eventEveryMs)
        : now - this.#reportedAt >= (isTerminal ? lineEveryMs : eventEveryMs);
    if (!isDue) return;
    this.#reportedAt = now;
    const leftMs = elapsedMs < estimateAfterMs ? null : ((total - done) * elapsedMs) / done;
    if (isTerminal) {
      const rest = leftMs === null ? '' : `, about ${duration(leftMs)} left`;
      this.#stderr.writeStatus(`${done} of ${total} changes${rest}`);
    } else {
      const left = leftMs === null ? null : Math.round(leftMs);
      this.#stderr.writeJsonLine({ event: 'progress', done, total, estimated_left_ms: left });
    }
  }

  /** Clears the status line before other output. */
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
