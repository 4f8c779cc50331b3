/** Reads the one response to a request of the gateway, within a bound. */
import { CallCut } from '../../upstream/call.ts';
import { ResponseFinder } from '../messages/find-response.ts';
import { serverUnusable } from '../messages/plane-fault.ts';
import { chunksOf, type LiveResponse } from '../transfer/response-chunks.ts';
import type { ServerAnswer } from './probe-era.ts';

const bytesMax = 1024 * 1024;

/** @throws PlaneFault for a longer or broken body */
export async function readAnswer(call: LiveResponse, id: string): Promise<ServerAnswer> {
  const { status, headers } = call;
  const finder = new ResponseFinder(String(headers['content-type'] ?? ''), id, bytesMax);
  try {
    for await (const chunk of chunksOf(call)) {
      const message = finder.push(chunk);
      if (message !== null) return { status, message };
      if (finder.isTooLong) {
        throw serverUnusable(`its response has more than ${bytesMax} bytes`);
      }
    }
  } finally {
    call.cut(new CallCut('the rest of the response is not needed'));
  }
  return { status, message: finder.end() };
}
