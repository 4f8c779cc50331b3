/** Plans proposals one after another in a thread, with bounds on time, memory and waiting requests. */
import { ApiError } from '../../model/wire/errors.ts';
import { TaskLost, TaskThread, threadModule } from '../../task-thread.ts';
import type { PlanningResult, PlanningTask } from './planning-task.ts';

const taskMsMax = 20_000;
/** Tasks that run or wait; each holds a snapshot and a source in memory. */
const tasksMax = 4;
const mebibytesMax = 768;

/** Dispose ends the thread. */
export class Planner implements Disposable {
  readonly #thread = new TaskThread<PlanningTask, PlanningResult>({
    body: threadModule('planning-thread', import.meta.url),
    memory: { maxOldGenerationSizeMb: mebibytesMax },
    taskMsMax,
  });

  #tasks = 0;

  /**
   * Runs the task that `read` returns; nothing is read while too many run.
   *
   * @throws ApiError when too many run, and when the task exceeds its bounds; what `read` throws
   */
  async run(read: () => Promise<PlanningTask>): Promise<PlanningResult> {
    if (this.#tasks >= tasksMax) {
      throw new ApiError('rateLimited', 'Too many proposals are planned now: try again');
    }
    this.#tasks += 1;
    try {
      return await this.#thread.run(await read());
    } catch (error) {
      if (!(error instanceof TaskLost)) throw error;
      const why = error.reason === 'late' ? `takes more than ${taskMsMax / 1000} s` : 'failed';
      const message = `Planning this change ${why}: change the file in the repository instead`;
      throw new ApiError('unavailable', message, '', { cause: error });
    } finally {
      this.#tasks -= 1;
    }
  }

  [Symbol.dispose](): void {
    this.#thread[Symbol.dispose]();
  }
}
