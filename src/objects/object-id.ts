/** Knows how objects are named that the gateway keeps itself, so that no provider's are taken for them. */
import { newId } from '../model/ids.ts';

const ownId = /^[a-z]{2,16}_gw[0-9a-f]{32}$/;

/** Those of one process grow with time. */
export function newObjectId(prefix: string): string {
  return `${prefix}_gw${newId().replaceAll('-', '')}`;
}

/** Whether the gateway may have made it; one behind another makes ids of the same form. */
function isOwnForm(id: string): boolean {
  return ownId.test(id);
}
