/** Knows where requests name objects that callers keep, and which objects an answer tells of. */
import { hasTwins } from '../model/json-object.ts';
import type { ObjectKind } from '../objects/object-request.ts';
import type { Exchange } from './exchange.ts';
import { carriesMark } from './object-mark.ts';
import type { OwnedPath } from './owned-path.ts';

export interface Reference {
  readonly kind: ObjectKind;
  readonly id: string;
  /** Member that names it; null for the path. */
  readonly param: string | null;
}

const kindsByMember = new Map<string, ObjectKind>([
  ['previous_response_id', 'responses'],
  ['conversation', 'conversations'],
  ['container', 'containers'],
  ['container_id', 'containers'],
  ['vector_store_id', 'vector_stores'],
  ['vector_store_ids', 'vector_stores'],
  ['file_id', 'files'],
  ['file_ids', 'files'],
  ['input_file_id', 'files'],
  ['assistant_id', 'assistants'],
  ['thread_id', 'threads'],
]);

/** Of texts, names and numbers within one another; no request that a provider takes has more. */
const depthMax = 32;

/** Every object that a body names, wherever it stands; what a model is told under `metadata` names none. */
export function referencesOf(params: Readonly<Record<string, unknown>>): Reference[] {
  const found: Reference[] = [];
  const look = (value: unknown, depth: number, isItem: boolean): void => {
    if (typeof value !== 'object' || value === null || depth > depthMax) return;
    if (Array.isArray(value)) {
      for (const item of value) look(item, depth + 1, isItem);
      return;
    }
    for (const id of itemsNamedBy(value, isItem)) found.push({ kind: 'items', id, param: 'input' });
    for (const [param, member] of Object.entries(value)) {
      const name = folded(param);
      const kind = kindsByMember.get(name);
      if (kind !== undefined) for (const id of idsOf(member)) found.push({ kind, id, param: name });
      const hasItems = (name === 'input' || name === 'items') && Array.isArray(member);
      if (name !== 'metadata') look(member, depth + 1, hasItems);
    }
  };
  look(params, 0, false);
  return found;
}

/** As providers read a name that heed no case. */
function folded(name: string): string {
  return /^[a-z\d_]*$/.test(name) ? name : name.toUpperCase().toLowerCase();
}

/** Items that the provider has by their ids: all of one, or what the model has thought. */
function itemsNamedBy(value: object, isItem: boolean): string[] {
  const isNamed = Object.keys(value).some((name) => name.length === 2 && folded(name) === 'id');
  if (!isNamed) return [];
  const { id: ids = [], type: types = [], ...rest } = membersByName(value);
  const isBare = isItem && types.every((type) => type === null) && Object.keys(rest).length === 0;
  const isThought = types.includes('reasoning') && typeof rest.encrypted_content?.[0] !== 'string';
  if (!isBare && !isThought && !types.includes('item_reference')) return [];
  return ids.filter((id): id is string => typeof id === 'string');
}

/** However its names are written. */
function membersByName(value: object): Record<string, unknown[]> {
  const members: Record<string, unknown[]> = Object.create(null);
  for (const [name, member] of Object.entries(value)) {
    members[folded(name)] ??= [];
    members[folded(name)]!.push(member);
  }
  return members;
}

/** Whether two readers of the body could see other objects named in it: one look at the bytes is all that most pay. */
export function isAmbiguous({ body, isJson }: Pick<Exchange, 'body' | 'isJson'>): boolean {
  return body !== null && isJson && mayName.test(body.toString('latin1')) && hasTwins(body);
}

const mayName = /ids?"|"conversation"|"container"|\\u00/i;

/** Whether messages name files. Most consist of texts, which are not gone through. */
export function namesFiles({ messages }: Readonly<Record<string, unknown>>): boolean {
  return Array.isArray(messages) && messages.some(hasParts) && filesIn(messages).length > 0;
}

function hasParts(message: unknown): boolean {
  if (typeof message !== 'object' || message === null) return false;
  for (const name in message) {
    if (typeof (message as Readonly<Record<string, unknown>>)[name] === 'object') return true;
  }
  return false;
}

/** Of messages to a model, in whatever format. */
export function filesIn(messages: unknown): Reference[] {
  return referencesOf({ messages }).filter(({ kind }) => kind === 'files');
}

/** An id, an object with one, or a list of those. */
function idsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(idsOf);
  return idsOf((value as { readonly id?: unknown } | null)?.id ?? []);
}

/** What the answer to a request tells of that is the caller's from now on. */
export function toldObjects(
  owned: OwnedPath,
  method: string | undefined,
  answer: unknown,
): Omit<Reference, 'param'>[] {
  if (typeof answer !== 'object' || answer === null) return [];
  const { kind, id, rest } = owned;
  const said = answer as Told;
  const told: [ObjectKind, unknown][] = [];
  if (method === 'POST' && id === null && rest.length === 0) told.push([kind, said.id]);
  if (kind === 'threads' && id === null) told.push(['threads', said.thread_id]);
  if (kind === 'batches') told.push(['files', said.output_file_id], ['files', said.error_file_id]);
  if (kind === 'uploads') told.push(['files', (said.file as Told | null)?.id]);
  if (tellsOfItems(owned)) {
    for (const item of itemsIn(said)) {
      told.push(['items', item.id], ['containers', item.container_id]);
    }
  }
  return told.flatMap(([of, one]) => (isId(one) ? [{ kind: of, id: one }] : []));
}

type Told = Readonly<Record<string, unknown>>;

/** Of a response, or a list of them. */
function itemsIn({ output, data }: Told): Told[] {
  const items: unknown[] = [output, data].filter(Array.isArray).flat();
  return items.filter((item): item is Told => typeof item === 'object' && item !== null);
}

function tellsOfItems({ kind, rest }: OwnedPath): boolean {
  return kind === 'responses' || (kind === 'conversations' && rest[0] === 'items');
}

/** Whether answers may tell of objects, or show how they are marked; all others are passed on as they come. */
export function tellsOfObjects(owned: OwnedPath, method: string | undefined): boolean {
  const { kind, id, rest } = owned;
  if (kind === 'batches' || kind === 'uploads') return true;
  if (tellsOfItems(owned)) return method !== 'DELETE' && rest[0] !== 'input_tokens';
  if (id !== null && rest.length === 0 && carriesMark(kind)) return method !== 'DELETE';
  return method === 'POST' && id === null && (rest.length === 0 || kind === 'threads');
}

/** As it fits into the table. */
function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[!-~]{1,255}$/.test(value);
}
