/** Knows where requests name objects that callers keep. */
import { hasDuplicateKeys } from '../../model/json/json-object.ts';
import { peekMember } from '../../model/json/lazy-object.ts';
import type { ObjectKind } from '../../objects/object-request.ts';
import type { Exchange } from '../callers/exchange.ts';

export interface Reference {
  readonly kind: ObjectKind;
  readonly id: string;
  /** Member that names it; null for the path. */
  readonly param: string | null;
}

/** By the kind of what is asked for, where a member names something in no other request. */
const kindsByOwnMember: Partial<Record<ObjectKind, Readonly<Record<string, ObjectKind>>>> = {
  videos: { video: 'videos' },
  fine_tuning_jobs: { training_file: 'files', validation_file: 'files' },
  chat_completions: { audio: 'audio' },
};

const kindsByMember = new Map<string, ObjectKind>([
  ['previous_response_id', 'responses'],
  ['comparison_response_id', 'responses'],
  ['previous_message_id', 'messages'],
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
  ['skill_id', 'skills'],
  ['skill_ids', 'skills'],
]);

/** Of texts, names and numbers within one another; no request that a provider takes has more. */
const depthMax = 32;

/**
 * Every object that a body names, wherever it stands; what a model is told under `metadata` names none.
 * `asked` is of what is asked for, as far as that is an object.
 */
export function referencesOf(
  params: Readonly<Record<string, unknown>>,
  asked: ObjectKind | null,
): Reference[] {
  const found: Reference[] = [];
  const ownMembers = (asked === null ? null : kindsByOwnMember[asked]) ?? {};
  const look = (value: unknown, depth: number, isItem: boolean): void => {
    if (typeof value !== 'object' || value === null || depth > depthMax) return;
    if (Array.isArray(value)) {
      for (const item of value) look(item, depth + 1, isItem);
      return;
    }
    for (const id of itemsNamedBy(value, isItem)) found.push({ kind: 'items', id, param: 'input' });
    if (asked === 'evals') {
      for (const id of filesNamedBy(value)) found.push({ kind: 'files', id, param: 'id' });
    }
    for (const [param, member] of Object.entries(value)) {
      const name = folded(param);
      const own = Object.hasOwn(ownMembers, name) ? ownMembers[name] : undefined;
      const kind = own ?? kindsByMember.get(name);
      if (kind !== undefined) {
        for (const id of idsOf(member)) {
          if (!isNone(kind, id, member)) found.push({ kind, id, param: name });
        }
      }
      const hasItems = (name === 'input' || name === 'items') && Array.isArray(member);
      if (name !== 'metadata') look(member, depth + 1, hasItems);
    }
  };
  look(params, 0, false);
  return found;
}

/** What names nothing that anybody keeps: skills that a provider has for all (`pptx`), and bytes of sound. */
function isNone(kind: ObjectKind, id: string, member: unknown): boolean {
  if (kind === 'audio') return typeof member === 'string';
  return kind === 'skills' && /^(?!skill)[a-z\d-]+$/.test(id);
}

/** Where an evaluation takes its data from: `{ type: 'file_id', id }`. */
function filesNamedBy(value: object): string[] {
  const { id: ids = [], type: types = [] } = membersByName(value);
  const isFile = types.some((type) => typeof type === 'string' && folded(type) === 'file_id');
  return isFile ? ids.filter((id): id is string => typeof id === 'string') : [];
}

/** What an evaluation may go through that the account has of all workspaces. */
const ofWholeAccount = new Set(['stored_completions', 'responses', 'logs']);

/** The first type of data in the body of an evaluation that is no one workspace's; null for none. */
export function accountDataTypeIn(value: unknown, depth = 0): string | null {
  if (typeof value !== 'object' || value === null || depth > depthMax) return null;
  for (const [name, member] of Object.entries(value)) {
    const said = folded(name) === 'type' && typeof member === 'string' ? folded(member) : null;
    if (said !== null && ofWholeAccount.has(said)) return said;
    const within = accountDataTypeIn(member, depth + 1);
    if (within !== null) return within;
  }
  return null;
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
export function hasAmbiguousMembers({ body, isJson }: Pick<Exchange, 'body' | 'isJson'>): boolean {
  return body !== null && isJson && mayName.test(body.toString('latin1')) && hasDuplicateKeys(body);
}

const mayName = /ids?"|"conversation"|"container"|"(?:training_file|validation_file|video)"|\\u00/i;

/** Whether messages have more than texts, and so may name something. Most have not, and are not gone through. */
export function hasPartsIn(params: Readonly<Record<string, unknown>>): boolean {
  const messages = peekMember(params, 'messages');
  return Array.isArray(messages) && messages.some(hasParts);
}

function hasParts(message: unknown): boolean {
  if (typeof message !== 'object' || message === null) return false;
  for (const name in message) {
    if (typeof (message as Readonly<Record<string, unknown>>)[name] === 'object') return true;
    // In an outline it may stand in the place of another one.
    if (name !== 'role' && name !== 'content' && beyondAscii.test(name)) return true;
  }
  return false;
}

const beyondAscii = /[^\0-\x7f]/;

/** An id, an object with one, or a list of those. */
function idsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(idsOf);
  return idsOf((value as { readonly id?: unknown } | null)?.id ?? []);
}
