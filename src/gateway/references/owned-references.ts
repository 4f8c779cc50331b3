/** Finds where requests name objects that callers own. */
import type { ObjectKind } from '../../model/endpoints/object-kind.ts';
import { findDuplicateKeys } from '../../model/json/json-object.ts';
import { peekMember } from '../../model/json/lazy-object.ts';
import { foldedName, isFreeMember } from '../../model/json/member-name.ts';
import { runAtOnce, type Slices } from '../../slices.ts';
import type { Exchange } from '../callers/exchange.ts';

export interface Reference {
  readonly kind: ObjectKind;
  readonly id: string;
  /** Member that contains the id; null for the path. */
  readonly param: string | null;
}

/** Kinds of objects by the member that names one, in lower case; the catalogue lists which an endpoint has. */
const kindsByMember: ReadonlyMap<string, ObjectKind> = new Map<string, ObjectKind>([
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
  ['training_file', 'files'],
  ['validation_file', 'files'],
  ['training_files', 'files'],
  ['validation_files', 'files'],
  ['input_files', 'files'],
  ['from_checkpoint', 'fine_tuning_jobs'],
  ['conversation_id', 'conversations'],
  ['library_id', 'vector_stores'],
  ['library_ids', 'vector_stores'],
  ['collection_ids', 'vector_stores'],
  ['assistant_id', 'assistants'],
  ['skill_id', 'skills'],
  ['skill_ids', 'skills'],
  ['video', 'videos'],
  ['characters', 'video_characters'],
  ['audio', 'audio'],
  ['previous_interaction_id', 'interactions'],
  ['cached_content', 'cached_contents'],
  ['file_search_store_names', 'vector_stores'],
  ['uri', 'files'],
  ['fileuri', 'files'],
  ['s3location', 'files'],
  ['cachedcontent', 'cached_contents'],
  ['filesearchstorenames', 'vector_stores'],
]);

/** Members in which nothing names an object, beside those whose content is free. */
const skippedMembers: ReadonlySet<string> = new Set(['attributes', 'input_examples']);

/** The endpoint of a request: the kind that its path concerns, and the members that name objects there. */
export interface ReferenceForm {
  /** Null for none. */
  readonly kind: ObjectKind | null;
  readonly references: readonly string[];
}

/** Whether a member of this name may name an object at some endpoint. */
export function isReferenceMember(name: string): boolean {
  return kindsByMember.has(foldedName(name));
}

/** A value that is still to be searched. */
interface SearchStep {
  readonly value: object;
  /** Whether the value is an item of a list of items. */
  readonly isItem: boolean;
  /** Whether the caller chooses the names of its members. */
  readonly isNamedFreely: boolean;
}

/** Values and ids between two interruptions. */
const visitsOfSlice = 256;

/**
 * Returns every object that a body names at any depth, once each, in the members in which the endpoint may name one.
 * Bodies are bounded in depth before they are parsed.
 */
export function* findReferences(
  params: Readonly<Record<string, unknown>>,
  form: ReferenceForm,
): Slices<Reference[]> {
  const found = new Map<string, Reference>();
  const open: SearchStep[] = [{ value: params, isItem: false, isNamedFreely: false }];
  let visited = 0;
  for (;;) {
    const next = open.pop();
    if (next === undefined) return [...found.values()];
    for (const one of referencesAt(next, form)) {
      visited += 1;
      if (visited % visitsOfSlice === 0) yield;
      const key = `${one.kind} ${one.id}`;
      if (!found.has(key)) found.set(key, one);
    }
    for (const below of valuesBelow(next)) {
      visited += 1;
      if (visited % visitsOfSlice === 0) yield;
      open.push(below);
    }
  }
}

/** {@link findReferences} at once. */
export function referencesOf(
  params: Readonly<Record<string, unknown>>,
  form: ReferenceForm,
): Reference[] {
  return runAtOnce(findReferences(params, form));
}

/** The objects that the members of one value name. */
function* referencesAt(
  { value, isItem, isNamedFreely }: SearchStep,
  { kind: requested, references: names }: ReferenceForm,
): Generator<Reference, void, void> {
  if (Array.isArray(value)) return;
  if (itemKinds.has(requested)) {
    for (const id of itemsNamedBy(value, isItem)) yield { kind: 'items', id, param: 'input' };
  }
  if (requested === 'evals') {
    for (const id of filesNamedBy(value)) yield { kind: 'files', id, param: 'id' };
  }
  for (const [param, member] of Object.entries(value)) {
    const name = foldedName(param);
    if (typeof member === 'string' && isAddressInAccount(name, member) && names.length > 0) {
      yield { kind: 'files', id: member, param: name };
      continue;
    }
    if (name === 'data_sources') yield* sourcesNamedBy(member);
    const kind = names.includes(name) && !isNamedFreely ? kindsByMember.get(name) : undefined;
    if (kind === undefined) continue;
    for (const id of idsOf(member)) {
      if (!isPublic(kind, id, member)) yield { kind, id, param: name };
    }
  }
}

/** The lists and objects in one value in which an object may be named. */
function* valuesBelow({ value, isItem }: SearchStep): Generator<SearchStep, void, void> {
  if (Array.isArray(value)) {
    for (const item of value) {
      if (typeof item !== 'object' || item === null) continue;
      yield { value: item, isItem, isNamedFreely: false };
    }
    return;
  }
  for (const [param, member] of Object.entries(value)) {
    if (typeof member !== 'object' || member === null) continue;
    if (isFreeMember(value, param) || skippedMembers.has(param)) continue;
    if (isToolInput(value, param)) continue;
    const name = foldedName(param);
    const hasItems = (name === 'input' || name === 'items') && Array.isArray(member);
    yield { value: member, isItem: hasItems, isNamedFreely: param === 'variables' };
  }
}

/** Kinds whose requests may refer to items of responses. */
const itemKinds: ReadonlySet<ObjectKind | null> = new Set<ObjectKind | null>([
  'responses',
  'conversations',
]);

/** Whether the member contains what a model passed to a tool of the caller. */
function isToolInput(value: object, name: string): boolean {
  return name === 'input' && (value as { readonly type?: unknown }).type === 'tool_use';
}

/** Whether an id names no owned object: public skills of a provider (`pptx`), and audio data. */
function isPublic(kind: ObjectKind, id: string, member: unknown): boolean {
  if (kind === 'audio') return typeof member === 'string';
  if (kind === 'files' && publicAddress.test(id)) return true;
  return kind === 'skills' && /^(?!skill)[a-z\d-]+$/.test(id);
}

/** Pictures and videos on the web; files of an account are at Google's own hosts. */
const publicAddress = /^https?:\/\/(?![^/?#]*googleapis\.com)[^/?#@\\]+(?:[/?]|$)/i;

const addressMembers: ReadonlySet<string> = new Set([
  'url',
  'uri',
  'image_url',
  'video_url',
  'file_url',
  'file_uri',
  'gcsuri',
]);

/** Addresses that a provider reads with its own account: objects of buckets, and files of Gemini. */
const addressInAccount =
  /^(?:gs|s3):|^https?:\/\/(?:[^/?#]*@)?generativelanguage\.googleapis\.com(?:[:/?#]|$)/i;

function isAddressInAccount(name: string, value: string): boolean {
  return addressMembers.has(name) && addressInAccount.test(value);
}

/** Credentials with which Azure reads a data source; every other one is of the caller. */
const ownCredentials = new Set([
  'system_assigned_managed_identity',
  'user_assigned_managed_identity',
]);

/** Data sources of a chat that Azure reads with the identity of the account. */
function sourcesNamedBy(sources: unknown): Reference[] {
  return [sources].flat().flatMap((source) => {
    const { authentication, index_name: index } = objectAt(objectAt(source).parameters);
    const { type } = objectAt(authentication);
    if (typeof type === 'string' && !ownCredentials.has(foldedName(type))) return [];
    const id = typeof index === 'string' ? index : JSON.stringify(source);
    return [{ kind: 'vector_stores', id, param: 'data_sources' }];
  });
}

function objectAt(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** Files as the data source of an evaluation: `{ type: 'file_id', id }`. */
function filesNamedBy(value: object): string[] {
  const { id: ids = [], type: types = [] } = membersByName(value);
  const isFile = types.some((type) => typeof type === 'string' && foldedName(type) === 'file_id');
  return isFile ? ids.filter((id): id is string => typeof id === 'string') : [];
}

/** Data sources that span all workspaces of an account. */
const accountDataTypes = new Set(['stored_completions', 'responses', 'logs']);

/** Returns the first data source of an evaluation that spans the whole account; null for none. */
export function accountDataTypeIn(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  for (const [name, member] of Object.entries(value)) {
    const type =
      foldedName(name) === 'type' && typeof member === 'string' ? foldedName(member) : null;
    if (type !== null && accountDataTypes.has(type)) return type;
    const within = accountDataTypeIn(member);
    if (within !== null) return within;
  }
  return null;
}

/** Items that are referenced by id, completely or for their encrypted reasoning. */
function itemsNamedBy(value: object, isItem: boolean): string[] {
  const names = Object.keys(value);
  if (!names.some((name) => name.length === 2 && foldedName(name) === 'id')) return [];
  // Most items have an id beside what they are.
  const isPlain = names.every((name) => plainName.test(name));
  if (isPlain && !mayBeReference(value, names, isItem)) return [];
  const { id: ids = [], type: types = [], ...rest } = membersByName(value);
  const isBare = isItem && types.every((type) => type === null) && Object.keys(rest).length === 0;
  const folded = types.map((type) => (typeof type === 'string' ? foldedName(type) : null));
  const isWithoutContent = folded.some((type) => {
    const content = type === null ? undefined : contentOfItem[type];
    return content !== undefined && typeof rest[content]?.[0] !== 'string';
  });
  if (!isBare && !isWithoutContent && !folded.includes('item_reference')) return [];
  return ids.filter((id): id is string => typeof id === 'string');
}

/** Items that the provider completes by their id where this member is absent. */
const contentOfItem: Readonly<Record<string, string | undefined>> = {
  reasoning: 'encrypted_content',
  image_generation_call: 'result',
  compaction: 'encrypted_content',
};

const plainName = /^[a-z\d_]*$/;

/** A cheap test of an object whose names are in lower case. */
function mayBeReference(
  { type }: { readonly type?: unknown },
  names: readonly string[],
  isItem: boolean,
): boolean {
  const isBare = isItem && names.length <= 2 && (type ?? null) === null;
  if (isBare || typeof type !== 'string') return isBare;
  const folded = foldedName(type);
  return folded === 'item_reference' || contentOfItem[folded] !== undefined;
}

/** Groups members by case-folded name. */
function membersByName(value: object): Record<string, unknown[]> {
  const members: Record<string, unknown[]> = Object.create(null);
  for (const [name, member] of Object.entries(value)) {
    members[foldedName(name)] ??= [];
    members[foldedName(name)]!.push(member);
  }
  return members;
}

/** Whether two readers could find different objects in the body; a quick scan of the bytes decides for most bodies. */
export function* findAmbiguousMembers({
  body,
  isJson,
}: Pick<Exchange, 'body' | 'isJson'>): Slices<boolean> {
  if (body === null || !isJson) return false;
  const letters = body.toString('latin1');
  yield;
  if (!mayName.test(letters)) return false;
  yield;
  return yield* findDuplicateKeys(body);
}

const mayName =
  /ids?"|ur[il]"|"conversation"|"container"|"(?:(?:training|validation|input)_files?|from_checkpoint|data_sources|cached_content|video)"|\\u00/i;

/** Whether messages contain more than text and so may name objects; most do not and are not searched. */
export function hasPartsIn(params: Readonly<Record<string, unknown>>): boolean {
  const messages = peekMember(params, 'messages');
  return Array.isArray(messages) && messages.some(hasParts);
}

function hasParts(message: unknown): boolean {
  if (typeof message !== 'object' || message === null) return false;
  for (const name in message) {
    if (typeof (message as Readonly<Record<string, unknown>>)[name] === 'object') return true;
    // In a lazily parsed object it may replace another member.
    if (name !== 'role' && name !== 'content' && beyondAscii.test(name)) return true;
  }
  return false;
}

const beyondAscii = /[^\0-\x7f]/;

/** Reads an id, an object with an id, or a list of these. */
function idsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(idsOf);
  if (typeof value !== 'object' || value === null) return [];
  return (membersByName(value).id ?? []).flatMap(idsOf);
}
