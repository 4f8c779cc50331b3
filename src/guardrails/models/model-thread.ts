/** Worker thread that runs a model, one task at a time; the parent terminates it when a task takes too long. */
import { parentPort } from 'node:worker_threads';
import { detach } from '../../detached.ts';
import { begun } from '../../task-thread.ts';
import type { ModelResult, ModelTask } from './guardrail-model.ts';
import { LoadedModel } from './loaded-model.ts';
import { ModelUnusable } from './model-bundle.ts';

/** Loaded by the first task; a folder that is unusable stays so until the server starts again. */
let loading: Promise<LoadedModel> | null = null;

parentPort!.on('message', (task: ModelTask) => {
  parentPort!.postMessage(begun);
  const answering = resultOf(task).then((result) => parentPort!.postMessage(result));
  detach('answering a task of the model', answering);
});

async function resultOf({ folder, texts, expiresAt }: ModelTask): Promise<ModelResult> {
  try {
    loading ??= LoadedModel.load(folder);
    const model = await loading;
    // Nobody waits any more for a task that waited too long.
    if (Date.now() > expiresAt) return { kind: 'failed', reason: 'the model had no time' };
    return { kind: 'done', findings: await model.judge(texts) };
  } catch (error) {
    const reason = error instanceof ModelUnusable ? error.message : 'the model could not run';
    return { kind: 'failed', reason };
  }
}
