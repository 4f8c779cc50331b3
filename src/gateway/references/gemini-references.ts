/** Finds the objects that a Gemini request names: files, cached contents, and stores and corpora that its provider keeps. */
import { isObject } from '../../model/json/read-object.ts';
import { type Reference, referencesOf } from './owned-references.ts';

type Members = Readonly<Record<string, unknown>>;

/** Members whose content the caller chooses freely, or that contain no objects. */
const skippedMembers: ReadonlySet<string> = new Set([
  'args',
  'response',
  'functionDeclarations',
  'generationConfig',
  'labels',
  'safetySettings',
]);

/** Visits objects only, which are few in a request of any length. */
export function geminiReferences(params: Members, names: readonly string[]): Reference[] {
  const references: Reference[] = [];
  const look = (value: unknown): void => {
    if (Array.isArray(value)) {
      for (const item of value) look(item);
      return;
    }
    if (!isObject(value)) return;
    for (const [name, member] of Object.entries(value)) {
      if (typeof member === 'string') add(name, member);
      else if (name === 'fileSearchStoreNames') add(name, member);
      else if (name === 'retrieval') {
        references.push({ kind: 'vector_stores', id: JSON.stringify(member), param: 'retrieval' });
      } else if (!skippedMembers.has(name)) look(member);
    }
  };
  const add = (name: string, member: unknown): void => {
    const folded = name.toLowerCase();
    if (!namingMembers.has(folded)) return;
    const form = { kind: null, references: [...names, 'filesearchstorenames'] };
    references.push(...referencesOf({ [folded]: member }, form));
  };
  look(params);
  return references;
}

const namingMembers: ReadonlySet<string> = new Set([
  'fileuri',
  'cachedcontent',
  'filesearchstorenames',
]);
