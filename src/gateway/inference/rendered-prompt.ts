/** Sends a rendered prompt to its caller without calling a model. */
import { writeResponseHead } from '../../http/responses/response-head.ts';
import { writeJson } from '../../model/json/json-bytes.ts';
import { runInTurns } from '../../slices.ts';
import type { Arrival } from '../calls/request-context.ts';
import { gatewayHeaders } from '../calls/response-headers.ts';
import { isLong } from '../transfer/changed-body.ts';
import type { RenderedPrompt } from './prompts.ts';

export async function sendRendered(
  arrival: Arrival,
  { params, body }: RenderedPrompt,
): Promise<void> {
  const { response } = arrival;
  const reply = { success: true, data: params };
  const bytes = isLong(body)
    ? await runInTurns(writeJson(reply))
    : Buffer.from(JSON.stringify(reply));
  writeResponseHead(response, 200, {
    ...gatewayHeaders(arrival, null),
    'content-type': 'application/json',
    'content-length': bytes.length,
  });
  response.end(bytes);
}
