/** Converts duplicate-key errors to API conflicts. */
import { ApiError } from '../../model/wire/errors.ts';
import { unlessDuplicate } from '../../store/rows/duplicate.ts';

/** @throws ApiError `conflict` with this message and param when a unique value is taken */
export async function requireUnique(
  writing: Promise<unknown>,
  message?: string,
  param?: string,
): Promise<void> {
  if (!(await unlessDuplicate(writing))) throw new ApiError('conflict', message, param);
}
