/** Knows where requests name objects that callers keep, and which objects an answer tells of. */
import type { ObjectKind } from '../objects/object-request.ts';
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
  ['vector_store_id', 'vector_stores'],
  ['vector_store_ids', 'vector_stores'],
  ['file_id', 'files'],
  ['file_ids', 'files'],
  ['input_file_id', 'files'],
  ['assistant_id', 'assistants'],
  ['thread_id', 'threads'],
  ['container', 'containers'],
  ['container_id', 'containers'],
]);

/** Of texts, names and numbers within one another; no request that a provider takes has more. */
const depthMax = 32;

/** Every object that a body names, wherever it stands; what a model is told under `metadata` names none. */
export function referencesOf(params: Readonly<Record<string, unknown>>): Reference[] {
  const found: Reference[] = [];
  const look = (value: unknown, depth: number): void => {
    if (typeof value !== 'object' || value === null || depth > depthMax) return;
    if (Array.isArray(value)) {
      for (const item of value) look(item, depth + 1);
      return;
    }
    for (const [param, member] of Object.entries(value)) {
      const kind = kindsByMember.get(param);
      if (kind !== undefined) for (const id of idsOf(member)) found.push({ kind, id, param });
      // A container that is to be made names files of its own.
      if (param !== 'metadata') look(member, depth + 1);
    }
  };
  look(params, 0);
  return found;
}

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
  { kind, id, rest }: OwnedPath,
  method: string | undefined,
  answer: unknown,
): Omit<Reference, 'param'>[] {
  if (typeof answer !== 'object' || answer === null) return [];
  const said = answer as Readonly<Record<string, unknown>>;
  const told: [ObjectKind, unknown][] = [];
  if (method === 'POST' && id === null && rest.length === 0) told.push([kind, said.id]);
  if (kind === 'threads' && id === null) told.push(['threads', said.thread_id]);
  if (kind === 'responses' && Array.isArray(said.output)) {
    for (const item of said.output) told.push(['containers', item?.container_id]);
  }
  if (kind === 'batches') told.push(['files', said.output_file_id], ['files', said.error_file_id]);
  if (kind === 'uploads') told.push(['files', (said.file as typeof said | null)?.id]);
  return told.flatMap(([of, one]) => (isId(one) ? [{ kind: of, id: one }] : []));
}

/** Whether answers may tell of objects, or show how they are marked; all others are passed on as they come. */
export function tellsOfObjects({ kind, id, rest }: OwnedPath, method: string | undefined): boolean {
  if (kind === 'batches' || kind === 'uploads') return true;
  if (id !== null && rest.length === 0 && carriesMark(kind)) return method !== 'DELETE';
  return method === 'POST' && id === null && (rest.length === 0 || kind === 'threads');
}

/** As it fits into the table. */
function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[!-~]{1,255}$/.test(value);
}
