/** Plans proposals one after another in a thread, with bounds on time, memory and waiting requests. */
import { ApiError } from '../../model/wire/errors.ts';
import { TaskLost, TaskThread, threadModule } from '../../task-thread.ts';
import type { PlanningResult, PlanningTask } from './planning-task.ts';

const taskMsMax = 20_000;
const waitingMax = 8;
const mebibytesMax = 768;

/** Dispose ends the thread. */
export class Planner implements Disposable {
  readonly #thread = new TaskThread<PlanningTask, PlanningResult>({
    body: threadModule('planning-thread', import.meta.url),
    memory: { maxOldGenerationSizeMb: mebibytesMax },
    taskMsMax,
  });

  /** @throws ApiError when too many wait, and when the task exceeds its bounds */
  async run(task: PlanningTask): Promise<PlanningResult> {
    if (this.#thread.waiting >= waitingMax) {
      throw new ApiError('rateLimited', 'Too many proposals are planned now: try again');
    }
    try {
      return await this.#thread.run(task);
    } catch (error) {
      if (!(error instanceof TaskLost)) throw error;
      const why = error.reason === 'late' ? `takes more than ${taskMsMax / 1000} s` : 'failed';
      const message = `Planning this change ${why}: change the file in the repository instead`;
      throw new ApiError('unavailable', message, '', { cause: error });
    }
  }

  [Symbol.dispose](): void {
    this.#thread[Symbol.dispose]();
  }
}
