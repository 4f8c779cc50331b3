/** Validates the parameters of object requests with a schema. */
import type { z } from 'zod';
import { faultsOfIssues } from '../model/wire/fault.ts';
import { validationError } from '../model/wire/validation-error.ts';
import { ObjectError } from './object-request.ts';

/** @throws ObjectError that lists every fault, with the path of the first as `param` */
export function readParams<Schema extends z.ZodType>(
  schema: Schema,
  params: unknown,
): z.infer<Schema> {
  const read = schema.safeParse(params);
  if (read.success) return read.data;
  const { message, param } = validationError(...faultsOfIssues(read.error.issues));
  throw new ObjectError('invalid_request', message, param);
}
