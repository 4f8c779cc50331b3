/** Generates ids of objects stored by the gateway, in a form that no provider uses. */
import { newId } from '../model/wire/ids.ts';

/** Ids of one process ascend. */
export function newObjectId(prefix: string): string {
  return `${prefix}_gw${newId().replaceAll('-', '')}`;
}

const objectIdPattern = /_gw[0-9a-f]{32}$/;

/** Whether an id has the form of {@link newObjectId}, here or at a provider that is a gateway like this one. */
export function isObjectId(id: string): boolean {
  return objectIdPattern.test(id);
}
