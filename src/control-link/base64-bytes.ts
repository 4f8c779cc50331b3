/** Reads and writes bytes in messages, as base64. */
import { z } from 'zod';

/** `text` bounds the base64. */
const bytesOf = (text: z.ZodBase64) =>
  z.codec(text, z.instanceof(Buffer), {
    decode: (value) => Buffer.from(value, 'base64'),
    encode: (value) => value.toString('base64'),
  });

const idCharsMax = 64;

/** Bytes of any length. */
export const bytesAsBase64 = bytesOf(z.base64());
/** Bytes of an id or a hash. */
export const idAsBase64 = bytesOf(z.base64().max(idCharsMax));
