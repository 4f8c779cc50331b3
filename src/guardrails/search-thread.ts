/** Knows the thread that searches long texts: one task after the other, ended from outside when one takes too long. */
import { parentPort } from 'node:worker_threads';
import { begun } from '../task-thread.ts';
import { jsonIn } from './json-in-text.ts';
import { schemaOf } from './schema.ts';
import { isFound, keysIn, replaced } from './search.ts';
import type { SearchEnd, SearchTask, Validity } from './searches.ts';

parentPort!.on('message', (task: SearchTask) => {
  parentPort!.postMessage(begun);
  try {
    tell({ kind: 'done', value: resultOf(task) });
  } catch (error) {
    tell({ kind: 'failed', reason: error instanceof Error ? error.message : 'it failed' });
  }
});

function tell(end: SearchEnd): void {
  parentPort!.postMessage(end);
}

function resultOf(task: SearchTask): unknown {
  switch (task.kind) {
    case 'find':
      return isFound(task.pattern, task.flags, task.text);
    case 'replace':
      return replaced(task.pattern, task.flags, task.text, task.by);
    case 'keys':
      return keysIn(task.text, task.keys);
    case 'schema':
      return validityOf(task.text, task.schema);
  }
}

function validityOf(text: string, schema: string): Validity {
  const found = jsonIn(text);
  if (found.length === 0) return 'none';
  const validate = schemaOf(schema);
  return found.some((value) => validate(value)) ? 'valid' : 'invalid';
}
