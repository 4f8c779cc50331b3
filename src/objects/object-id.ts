/** Generates ids of objects stored by the gateway, in a form that no provider uses. */
import { newId } from '../model/wire/ids.ts';

/** Ids of one process ascend. */
export function newObjectId(prefix: string): string {
  return `${prefix}_gw${newId().replaceAll('-', '')}`;
}
