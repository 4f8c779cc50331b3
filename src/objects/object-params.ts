/** Knows how what callers send about their objects is read by a schema, and refused in words. */
import type { z } from 'zod';
import { faultsOfIssues } from '../model/wire/fault.ts';
import { validationError } from '../model/wire/validation-error.ts';
import { ObjectError } from './object-request.ts';

/** @throws ObjectError that names every fault, and the path of the first */
export function readParams<Schema extends z.ZodType>(
  schema: Schema,
  params: unknown,
): z.infer<Schema> {
  const read = schema.safeParse(params);
  if (read.success) return read.data;
  const { message, param } = validationError(...faultsOfIssues(read.error.issues));
  throw new ObjectError('invalid_request', message, param);
}
