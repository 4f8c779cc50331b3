/** Body of the thread that plans proposals, so that large sources and hostile texts hold up no other request. */
import { parentPort } from 'node:worker_threads';
import { begun } from '../../task-thread.ts';
import { type PlanningTask, planTask } from './planning-task.ts';

parentPort!.on('message', async (task: PlanningTask) => {
  parentPort!.postMessage(begun);
  parentPort!.postMessage(await planTask(task));
});
