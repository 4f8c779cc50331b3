/** Knows how a prompt that was filled in goes back to its caller, without a model being asked. */
import { type Arrival, ourHeaders } from './calling.ts';
import type { Filled } from './prompts.ts';

export function sendRendered(arrival: Arrival, { params }: Filled): void {
  const { response } = arrival;
  const bytes = Buffer.from(JSON.stringify({ success: true, data: params }));
  response.writeHead(200, {
    ...ourHeaders(arrival, null),
    'content-type': 'application/json',
    'content-length': bytes.length,
  });
  response.end(bytes);
}
