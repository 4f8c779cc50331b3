/** Has a mounted model judge texts in a worker thread, with a bound of waiting tasks and a time limit. */
import type { ModelManifest } from '../../model/guardrails/model-manifest.ts';
import { TaskLost, TaskThread, threadModule } from '../../task-thread.ts';
import { CheckError } from '../check.ts';
import type { ModelFinding } from './loaded-model.ts';
import { readModelManifest } from './model-bundle.ts';

export interface ModelTask {
  readonly folder: string;
  readonly texts: readonly string[];
  /** Milliseconds since the epoch, after which nobody waits for the result. */
  readonly expiresAt: number;
}

export type ModelResult =
  | { readonly kind: 'done'; readonly findings: readonly (readonly ModelFinding[])[] }
  | { readonly kind: 'failed'; readonly reason: string };

const waitingMax = 32;
/** Characters of one task; the most that a small model reads within seconds. */
const charactersMax = 100_000;
/** Time limit of one task, with that of loading the model. */
const taskMsMax = 60_000;
const memory = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 32 };

/** Disposal rejects the tasks that are still waiting. */
export class GuardrailModel implements Disposable {
  readonly manifest: ModelManifest;
  readonly #folder: string;
  readonly #thread = new TaskThread<ModelTask, ModelResult>({
    body: threadModule('model-thread', import.meta.url),
    memory,
    taskMsMax,
  });

  /** The weights are loaded when they are first used. @throws ModelUnusable */
  constructor(folder: string) {
    this.#folder = folder;
    this.manifest = readModelManifest(folder);
  }

  /** The labels of each text. @throws CheckError when there are none in time */
  async judge(
    texts: readonly string[],
    timeoutMs: number,
  ): Promise<readonly (readonly ModelFinding[])[]> {
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    if (characters > charactersMax) {
      throw new CheckError(`the text has more than ${charactersMax} characters`);
    }
    if (this.#thread.waiting >= waitingMax) {
      throw new CheckError('too many texts are waiting for the model');
    }
    const { promise: late, reject } = Promise.withResolvers<never>();
    const message = `the model gave no verdict within ${timeoutMs} ms`;
    const timer = setTimeout(() => reject(new CheckError(message)), timeoutMs);
    const task = { folder: this.#folder, texts, expiresAt: Date.now() + timeoutMs };
    try {
      const running = this.#thread.run(task);
      running.catch(() => undefined);
      const end = await Promise.race([running, late]);
      if (end.kind === 'failed') throw new CheckError(end.reason);
      return end.findings;
    } catch (error) {
      if (!(error instanceof TaskLost)) throw error;
      throw new CheckError(`the model could not run (${error.reason})`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  [Symbol.dispose](): void {
    this.#thread[Symbol.dispose]();
  }
}
