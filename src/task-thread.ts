/** Knows how tasks are done one after the other in a thread of their own, which is ended when one takes too long or breaks it. */
import { type ResourceLimits, type Transferable, Worker } from 'node:worker_threads';

export interface TaskThreadOptions {
  /** What the thread does: it tells {@link begun} of each task, and then one thing more. */
  readonly body: URL;
  readonly memory: ResourceLimits;
  /** Of one task, from when it has begun. */
  readonly taskMsMax: number;
}

/** The first that a thread tells of a task. */
export const begun = 'begun';

/** Why a task has no end; the next one gets another thread. */
export class TaskLost extends Error {
  override name = 'TaskLost';
  /** It took too long; the thread broke, for want of memory or by a fault; or nobody asks any more. */
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

/** Dispose of it when nobody asks any more; who still waits is told that there is no end. */
export class TaskThread<Task, End> implements Disposable {
  readonly #options: TaskThreadOptions;
  readonly #waiting: Waiting<Task, End>[] = [];
  #worker: Worker | null = null;
  #running: Waiting<Task, End> | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: TaskThreadOptions) {
    this.#options = options;
  }

  /** Tasks that have not begun. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** What is `moved` is gone here once the task begins. @throws TaskLost */
  run(task: Task, moved: readonly Transferable[] = []): Promise<End> {
    const { promise, resolve, reject } = Promise.withResolvers<End>();
    this.#waiting.push({ task, moved, resolve, reject });
    this.#next();
    return promise;
  }

  #next(): void {
    if (this.#running !== null) return;
    this.#running = this.#waiting.shift() ?? null;
    // A thread that has nothing to do keeps no process alive.
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
    worker.on('message', (told: typeof begun | End) => {
      if (worker !== this.#worker) return;
      if (told === begun) {
        this.#timer = setTimeout(() => this.#lose(new TaskLost('late')), taskMsMax);
        return;
      }
      this.#end()?.resolve(told as End);
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

  /** The thread is beyond help. */
  #lose(lost: TaskLost): void {
    const worker = this.#worker;
    this.#worker = null;
    void worker?.terminate();
    this.#end()?.reject(lost);
    this.#next();
  }

  [Symbol.dispose](): void {
    const closed = new TaskLost('closed');
    for (const { reject } of this.#waiting.splice(0)) reject(closed);
    this.#lose(closed);
  }
}
