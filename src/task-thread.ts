/** Runs tasks one after another in a worker thread, which is replaced when a task takes too long or crashes. */

import { type ResourceLimits, type Transferable, Worker } from 'node:worker_threads';

export interface TaskThreadOptions {
  /** Module of the thread. It posts {@link begun} for each task, then exactly one result. */
  readonly body: URL;
  readonly memory: ResourceLimits;
  /** Time limit of one task, measured from its start. */
  readonly taskMsMax: number;
}

/**
 * Address of the module of a thread: beside the module that starts it in the sources, and one folder above it in the
 * built program. `starter` is the address of that module.
 */
export function threadModule(name: string, starter: string): URL {
  return new URL(starter.endsWith('.ts') ? `./${name}.ts` : `../${name}.js`, starter);
}

/** First message of the thread for a task. */
export const begun = 'begun';

/** The task has no result; the next task gets a new thread. */
export class TaskLost extends Error {
  override name = 'TaskLost';
  /** `late`: time limit exceeded. `broken`: out of memory or crashed. `closed`: disposed. */
  readonly reason: 'late' | 'broken' | 'closed';

  constructor(reason: TaskLost['reason'], options: ErrorOptions = {}) {
    super(`The task has no end: ${reason}`, options);
    this.reason = reason;
  }
}

interface Waiting<Task, End> {
  readonly task: Task;
  readonly moved: readonly Transferable[];
  readonly resolve: (end: End) => void;
  readonly reject: (error: TaskLost) => void;
}

/** Dispose ends the thread and rejects waiting tasks with {@link TaskLost}. */
export class TaskThread<Task, End> implements Disposable {
  readonly #options: TaskThreadOptions;
  readonly #waiting: Waiting<Task, End>[] = [];
  #worker: Worker | null = null;
  #running: Waiting<Task, End> | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: TaskThreadOptions) {
    this.#options = options;
  }

  /** Number of tasks that have not started. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Objects in `moved` become unusable here when the task starts. @throws TaskLost */
  run(task: Task, moved: readonly Transferable[] = []): Promise<End> {
    const { promise, resolve, reject } = Promise.withResolvers<End>();
    this.#waiting.push({ task, moved, resolve, reject });
    this.#next();
    return promise;
  }

  #next(): void {
    if (this.#running !== null) return;
    this.#running = this.#waiting.shift() ?? null;
    // An idle thread does not keep the process alive.
    if (this.#running === null) {
      this.#worker?.unref();
      return;
    }
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#worker.postMessage(this.#running.task, this.#running.moved);
  }

  #start(): Worker {
    const { body, memory, taskMsMax } = this.#options;
    const worker = new Worker(body, { resourceLimits: memory });
    worker.on('message', (message: typeof begun | End) => {
      if (worker !== this.#worker) return;
      if (message === begun) {
        this.#timer = setTimeout(() => this.#lose(new TaskLost('late')), taskMsMax);
        return;
      }
      this.#end()?.resolve(message as End);
      this.#next();
    });
    worker.on('error', (cause) => {
      if (worker === this.#worker) this.#lose(new TaskLost('broken', { cause }));
    });
    return worker;
  }

  #end(): Waiting<Task, End> | null {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const ended = this.#running;
    this.#running = null;
    return ended;
  }

  /** Discards the thread. */
  #lose(lost: TaskLost): void {
    const worker = this.#worker;
    this.#worker = null;
    worker?.terminate().catch(() => undefined);
    this.#end()?.reject(lost);
    this.#next();
  }

  [Symbol.dispose](): void {
    const closed = new TaskLost('closed');
    for (const { reject } of this.#waiting.splice(0)) reject(closed);
    this.#lose(closed);
  }
}
