/** Sends a rendered prompt to its caller without calling a model. */
import { writeResponseHead } from '../../http/responses/response-head.ts';
import type { Arrival } from '../calls/request-context.ts';
import { gatewayHeaders } from '../calls/response-headers.ts';
import type { RenderedPrompt } from './prompts.ts';

export function sendRendered(arrival: Arrival, { params }: RenderedPrompt): void {
  const { response } = arrival;
  const bytes = Buffer.from(JSON.stringify({ success: true, data: params }));
  writeResponseHead(response, 200, {
    ...gatewayHeaders(arrival, null),
    'content-type': 'application/json',
    'content-length': bytes.length,
  });
  response.end(bytes);
}
