/** Reads the body of a request into memory, up to a limit. */
import type { IncomingMessage } from 'node:http';
import { ApiError } from '../../model/wire/errors.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { BodyHold } from './body-hold.ts';

const empty = Buffer.alloc(0);

/**
 * Empty for GET and HEAD, whose body is ignored, and for a request that declares no body.
 *
 * @throws ApiError `tooLarge` as soon as the declared or the received length exceeds `bytesMax`;
 *   `invalid` when the connection ends within the body; `unavailable` when `held` has no room
 */
export function readBodyBytes(
  request: IncomingMessage,
  bytesMax: number,
  held: BodyHold,
): Promise<Buffer> {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  const hasBody = encoding !== undefined || (length !== undefined && length !== '0');
  if (!hasBody || request.method === 'GET' || request.method === 'HEAD') {
    return Promise.resolve(empty);
  }
  if (Number(length ?? 0) > bytesMax) return Promise.reject(new ApiError('tooLarge'));
  return collect(request, bytesMax, held);
}

function collect(request: IncomingMessage, bytesMax: number, held: BodyHold): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const cutOff = (): void => {
      reject(validationError({ path: [], message: 'the body ended early' }));
    };
    if (request.destroyed) return cutOff();
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      try {
        if (bytes > bytesMax) throw new ApiError('tooLarge');
        held.add(chunk.length);
        chunks.push(chunk);
      } catch (error) {
        chunks.length = 0;
        // The rest is discarded until the connection closes.
        request.off('data', onData).resume();
        reject(error);
      }
    };
    request
      .on('data', onData)
      .once('end', () => resolve(Buffer.concat(chunks, bytes)))
      .once('error', cutOff)
      .once('close', cutOff);
  });
}
