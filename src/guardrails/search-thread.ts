/** Worker thread that searches long texts, one task at a time; the parent terminates it when a task takes too long. */
import { parentPort } from 'node:worker_threads';
import { detach } from '../detached.ts';
import { begun } from '../task-thread.ts';
import { type LanguageModel, loadLanguageModel } from './detectors/language/language-model.ts';
import { jsonIn } from './json-in-text.ts';
import { compileSchema } from './json-schema.ts';
import { hasMatch, keysIn, matchRanges, replaceMatches } from './search.ts';
import type { SearchResult, SearchTask, Validity } from './searches.ts';

parentPort!.on('message', (task: SearchTask) => detach('searching a long text', perform(task)));

async function perform(task: SearchTask): Promise<void> {
  parentPort!.postMessage(begun);
  try {
    post({ kind: 'done', value: await resultOf(task) });
  } catch (error) {
    post({ kind: 'failed', reason: error instanceof Error ? error.message : 'the search failed' });
  }
}

function post(end: SearchResult): void {
  parentPort!.postMessage(end);
}

let languageModel: Promise<LanguageModel> | undefined;

function resultOf(task: SearchTask): unknown {
  switch (task.kind) {
    case 'find':
      return hasMatch(task.pattern, task.flags, task.text);
    case 'replace':
      return replaceMatches(task.pattern, task.flags, task.text, task.by);
    case 'ranges':
      return matchRanges(task.pattern, task.flags, task.text);
    case 'keys':
      return keysIn(task.text, task.keys);
    case 'schema':
      return validityOf(task.text, task.schema);
    case 'language':
      languageModel ??= loadLanguageModel();
      return languageModel.then((identify) => identify(task.text));
  }
}

function validityOf(text: string, schema: string): Validity {
  const values = jsonIn(text);
  if (values.length === 0) return 'none';
  const validate = compileSchema(schema);
  return values.some((value) => validate(value)) ? 'valid' : 'invalid';
}
