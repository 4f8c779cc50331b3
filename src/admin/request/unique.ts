/** Knows how a write is refused that would make a second of what there is one of. */
import { ApiError } from '../../model/wire/errors.ts';
import { unlessDuplicate } from '../../store/rows/duplicate.ts';

/** @throws ApiError `conflict`, of this message and param, where what must be unique is taken. */
export async function requireUnique(
  writing: Promise<unknown>,
  message?: string,
  param?: string,
): Promise<void> {
  if (!(await unlessDuplicate(writing))) throw new ApiError('conflict', message, param);
}
