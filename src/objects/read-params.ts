/** Knows how the body of a request about objects is read, and how its first fault is told. */
import type { z } from 'zod';
import { ObjectError } from './object-request.ts';

/** @throws ObjectError that names the place */
export function readParams<T>(schema: z.ZodType<T>, params: Readonly<Record<string, unknown>>): T {
  const read = schema.safeParse(params);
  if (read.success) return read.data;
  const { path, message } = read.error.issues[0]!;
  const place = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`));
  const param = place.join('').replace(/^\./, '');
  throw new ObjectError('invalid_request', param === '' ? message : `${param}: ${message}`, param);
}
