/** Knows how objects are named that the gateway keeps itself, so that no provider's are taken for them. */
import { newId } from '../model/wire/ids.ts';

/** Those of one process grow with time. */
export function newObjectId(prefix: string): string {
  return `${prefix}_gw${newId().replaceAll('-', '')}`;
}
