/** Worker thread that extracts text from files, one at a time; the parent terminates it when a file takes too long. */
import { parentPort } from 'node:worker_threads';
import { begun } from '../../task-thread.ts';
import type { FileReadResult, FileReadTask } from './file-read-pool.ts';
import { FileTextError, fileText } from './file-text.ts';
import { splitText } from './text-chunks.ts';

parentPort!.on('message', async (reading: FileReadTask) => {
  parentPort!.postMessage(begun);
  parentPort!.postMessage(await readFile(reading));
});

async function readFile({ name, content, sizes }: FileReadTask): Promise<FileReadResult> {
  try {
    return { kind: 'done', chunks: splitText(await fileText(name, content), sizes) };
  } catch (error) {
    if (error instanceof FileTextError) {
      return { kind: 'failed', code: error.code, message: error.message };
    }
    return { kind: 'failed', code: 'invalid_file', message: 'The file cannot be read' };
  }
}
