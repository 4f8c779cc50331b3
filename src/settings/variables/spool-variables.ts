/** Declares the environment variables of the spool, which holds records on disk until they are delivered. */
import { z } from 'zod';
import * as forms from './forms.ts';
import { defaulted, optional } from './variable.ts';

/** Sizes of disks, which have more digits than other numbers. */
function byteCount(minimum: number, maximum: number, example: string): forms.Form<number> {
  return {
    schema: z
      .string()
      .regex(/^\d{1,15}$/)
      .transform(Number)
      .pipe(z.number().min(minimum).max(maximum)),
    expected: `a number of bytes from ${minimum} to ${maximum}`,
    example,
  };
}

export const spoolVariables = {
  GATEWRIGHT_SPOOL_DIRECTORY: optional(
    'Retention',
    { ...forms.path, example: '/var/lib/gatewright/spool' },
    'Existing folder on a disk of this machine where log rows and usage wait, encrypted, until they are in the database; several processes may share it. When unset, they wait in memory.',
  ),
  GATEWRIGHT_SPOOL_MAX_BYTES: defaulted(
    'Retention',
    byteCount(16 * 1024 * 1024, 1024 ** 4, '4294967296'),
    '1073741824',
    'Maximum size of the spool of a process. When it is full, the oldest log rows are dropped and counted; usage is never dropped.',
  ),
};
