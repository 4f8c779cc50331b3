/** Rewrites the members of a Gemini request to one spelling: Google accepts `system_instruction` and `systemInstruction`. */
import { usualName } from '../../model/json/member-name.ts';
import { type Json, NotTranslatable } from '../documents/document-node.ts';

/** Members whose value the caller defines, so that names within it are data. */
const freeMembers: ReadonlySet<string> = new Set([
  'args',
  'response',
  'parameters',
  'parametersJsonSchema',
  'responseSchema',
  'responseJsonSchema',
  'properties',
  'labels',
  'partialArgs',
]);

/**
 * Returns the request itself if all names are in the usual spelling already.
 *
 * @throws NotTranslatable when an object has a member in both spellings
 */
export function withUsualNames(request: Json): Json {
  return renamed(request, '') as Json;
}

function renamed(value: unknown, path: string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return renamedItems(value, path);
  let members: Record<string, unknown> | null = null;
  for (const [name, member] of Object.entries(value)) {
    const usual = usualName(name);
    const place = path === '' ? name : `${path}.${name}`;
    const below = freeMembers.has(usual) ? member : renamed(member, place);
    if (usual === name && below === member) continue;
    members ??= { ...value } as Record<string, unknown>;
    if (usual !== name) {
      if (Object.hasOwn(value, usual)) {
        throw new NotTranslatable(place, `is also sent as ${usual}; send only one of them`);
      }
      delete members[name];
    }
    members[usual] = below;
  }
  return members ?? value;
}

function renamedItems(items: readonly unknown[], path: string): readonly unknown[] {
  let copy: unknown[] | null = null;
  for (const [at, item] of items.entries()) {
    const below = renamed(item, `${path}[${at}]`);
    if (below === item) continue;
    copy ??= [...items];
    copy[at] = below;
  }
  return copy ?? items;
}
