/** Reads the id of a refused request, so that the error reaches the call that waits for it. */

import type { IncomingMessage } from 'node:http';
import { readBody } from '../../gateway/transfer/read-body.ts';
import { BodyHold } from '../../http/input/body-hold.ts';
import { isObject } from '../../model/json/read-object.ts';
import type { RpcId } from '../messages/plane-fault.ts';

/** Nobody is known to hold the memory of a larger body. */
const bytesMax = 16 * 1024;

/** Null for a body that is long, has been read, or has no single id. */
export async function readRequestId(request: IncomingMessage): Promise<RpcId> {
  const length = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY);
  if (request.method !== 'POST' || length > bytesMax || request.readableDidRead) return null;
  try {
    const body = await readBody(request, bytesMax, new BodyHold(() => {}));
    const message: unknown = JSON.parse(String(body));
    const id = isObject(message) ? message.id : null;
    return typeof id === 'string' || typeof id === 'number' ? id : null;
  } catch {
    return null;
  }
}
