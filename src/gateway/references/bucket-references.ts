/** Finds the files of buckets that a Converse request names, which Bedrock reads with the account of the provider. */
import { isObject } from '../../model/json/read-object.ts';
import type { Reference } from './owned-references.ts';

/** Members whose content the caller chooses freely. */
const skippedMembers: ReadonlySet<string> = new Set(['input', 'json', 'requestMetadata']);

export function bucketReferences(params: Readonly<Record<string, unknown>>): readonly Reference[] {
  const references: Reference[] = [];
  const look = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) look(item);
    if (!isObject(value)) return;
    for (const [name, member] of Object.entries(value)) {
      if (name.toLowerCase() === 's3location') {
        references.push({ kind: 'files', id: idOf(member), param: 's3location' });
      } else if (!skippedMembers.has(name)) look(member);
    }
  };
  look(params);
  return references;
}

function idOf(location: unknown): string {
  const { uri } = isObject(location) ? location : {};
  return typeof uri === 'string' ? uri : JSON.stringify(location);
}
