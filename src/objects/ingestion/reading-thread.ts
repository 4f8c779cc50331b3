/** Knows the thread that reads files: one after the other, ended from outside when one takes too long. */
import { parentPort } from 'node:worker_threads';
import { begun } from '../../task-thread.ts';
import { FileTextError, fileText } from './file-text.ts';
import type { Reading, ReadingEnd } from './readings.ts';
import { textChunks } from './text-chunks.ts';

parentPort!.on('message', async (reading: Reading) => {
  parentPort!.postMessage(begun);
  parentPort!.postMessage(await endOf(reading));
});

async function endOf({ name, content, sizes }: Reading): Promise<ReadingEnd> {
  try {
    return { kind: 'done', chunks: textChunks(await fileText(name, content), sizes) };
  } catch (error) {
    if (error instanceof FileTextError) {
      return { kind: 'failed', code: error.code, message: error.message };
    }
    return { kind: 'failed', code: 'invalid_file', message: 'The file cannot be read' };
  }
}
