/** Extracts from responses the objects that belong to the caller from then on. */
import type { ObjectKind } from '../../model/endpoints/object-kind.ts';
import { carriesMark } from './object-mark.ts';
import type { OwnedPath } from './owned-path.ts';

export interface ExtractedObject {
  readonly kind: ObjectKind;
  readonly id: string;
}

type JsonMembers = Readonly<Record<string, unknown>>;
type Pairs = [ObjectKind, unknown][];

/** Extracts the objects from the responses to one request. */
export interface ObjectExtractor {
  readonly fromResponse: (response: unknown) => readonly ExtractedObject[];
  readonly fromEvent: (event: unknown) => readonly ExtractedObject[];
  /** Matches the events to read after the first one with an object. */
  readonly laterEvents: RegExp;
  /** Whether objects carry marks, which must be removed from the response. */
  readonly isMarked: boolean;
}

/** Returns the extractor for a request about objects. */
export function extractorOf(owned: OwnedPath, method: string | undefined): ObjectExtractor {
  return {
    fromResponse: (response) => extractObjects(owned, method, response),
    fromEvent: (event) => extractFromEvent(owned, method, event),
    // A stream names the created object at its start; a response also adds items later.
    laterEvents: owned.kind === 'responses' ? moreOfResponse : /$^/,
    isMarked: carriesMark(owned.kind),
  };
}

const moreOfResponse = /"response\.(?:completed|incomplete|failed|output_item\.(?:added|done))"/;

/** Whether responses may contain objects or marks; all others are passed on unchanged. */
export function mayReturnObjects(owned: OwnedPath, method: string | undefined): boolean {
  const { kind, id, rest, isMaker } = owned;
  if (Object.hasOwn(extractByKind, kind)) return true;
  if (mayReturnItems(owned)) return method !== 'DELETE' && rest[0] !== 'input_tokens';
  if (mayBeginConversation(owned, method)) return true;
  if (id !== null && rest.length === 0 && carriesMark(kind)) return method !== 'DELETE';
  return method === 'POST' && (isMaker || (id === null && kind === 'threads'));
}

export function extractObjects(
  owned: OwnedPath,
  method: string | undefined,
  response: unknown,
): ExtractedObject[] {
  const { kind, id, isMaker } = owned;
  const members = membersOf(response);
  const pairs: Pairs = [];
  if (method === 'POST' && isMaker) pairs.push([kind, members.id]);
  if (kind === 'threads' && id === null) pairs.push(['threads', members.thread_id]);
  // Mistral answers with the id of the conversation that it has begun or branched off.
  if (kind === 'conversations') pairs.push(['conversations', members.conversation_id]);
  pairs.push(...(extractByKind[kind]?.(members) ?? []));
  if (mayReturnItems(owned))
    pairs.push(...extractFromItems([members.output, members.data].flatMap(listOf)));
  return withValidId(pairs);
}

/** Objects that some kinds create while they run. */
const extractByKind: Partial<Record<ObjectKind, (members: JsonMembers) => Pairs>> = {
  batches: ({ output_file_id, error_file_id }) => [
    ['files', output_file_id],
    ['files', error_file_id],
  ],
  uploads: ({ file }) => [['files', membersOf(file).id]],
  // A job, or a list of its checkpoints.
  fine_tuning_jobs: (members) =>
    [members, ...listOf(members.data).map(membersOf)].flatMap(
      (one): Pairs => [
        ...listOf(one.result_files).map((id): Pairs[number] => ['files', id]),
        ['models', one.fine_tuned_model],
        ['models', one.fine_tuned_model_checkpoint],
      ],
    ),
};

/** Whether the request calls a model of Mistral, which answers with the id of the conversation. */
function mayBeginConversation({ kind, rest }: OwnedPath, method: string | undefined): boolean {
  return kind === 'conversations' && method === 'POST' && rest[0] !== 'items';
}

function mayReturnItems({ kind, rest }: OwnedPath): boolean {
  return kind === 'responses' || (kind === 'conversations' && rest[0] === 'items');
}

/** Returns the items of a response, and the containers in which they ran. */
function extractFromItems(items: readonly unknown[]): Pairs {
  return items.map(membersOf).flatMap(
    (item): Pairs => [
      ['items', item.id],
      ['containers', item.container_id],
      ['containers', membersOf(item.environment).container_id],
    ],
  );
}

/** Reads an event about a response, or about a run of a new thread, which is the run itself. */
function extractFromEvent(
  owned: OwnedPath,
  method: string | undefined,
  event: unknown,
): ExtractedObject[] {
  const { response, item, interaction } = membersOf(event);
  const items = owned.kind === 'responses' && item !== undefined ? extractFromItems([item]) : [];
  return [
    ...withValidId(items),
    ...extractObjects(owned, method, response ?? interaction ?? (item ? undefined : event)),
  ];
}

/** Extracts from a chat completion or a chunk of one. */
export function extractFromChat(isStored: boolean, response: unknown): ExtractedObject[] {
  const members = membersOf(response);
  const choices = listOf(members.choices).map(membersOf);
  const spoken = choices.flatMap(
    ({ message, delta }): Pairs =>
      [message, delta].map((one) => ['audio', membersOf(membersOf(one).audio).id]),
  );
  return withValidId([
    ...(isStored ? [['chat_completions', members.id] as Pairs[number]] : []),
    ...spoken,
  ]);
}

/** As {@link extractFromChat}, in the format of Anthropic: where code has run, and what files it has written. */
export function extractFromMessage(response: unknown): ExtractedObject[] {
  const members = membersOf(response);
  const holders = [members, membersOf(members.message), membersOf(members.delta)];
  const blocks = [...holders.flatMap(({ content }) => listOf(content)), members.content_block];
  const results = blocks.map(membersOf).filter(({ type }) => isResultOfCode(type));
  const outputs = results.flatMap(({ content }) => listOf(membersOf(content).content));
  return withValidId([
    ...holders.map(({ container }): Pairs[number] => ['containers', membersOf(container).id]),
    ...outputs.map((output): Pairs[number] => ['files', membersOf(output).file_id]),
  ]);
}

/** Extracts a message that a later request may continue, or the event that begins one. */
export function extractThreadMessages(response: unknown): ExtractedObject[] {
  const members = membersOf(response);
  return withValidId(
    [members, membersOf(members.message)].map(({ type, id }) => [
      'messages',
      type === 'message' ? id : null,
    ]),
  );
}

/** Whether the provider wrote the block; ids in text of the model are not trustworthy. */
function isResultOfCode(type: unknown): boolean {
  return typeof type === 'string' && /code_execution_tool_result$/.test(type);
}

function withValidId(pairs: Pairs): ExtractedObject[] {
  return pairs.flatMap(([kind, id]) => (isId(id) ? [{ kind, id }] : []));
}

/** Empty for values that are not objects. */
function membersOf(value: unknown): JsonMembers {
  return typeof value === 'object' && value !== null ? (value as JsonMembers) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Whether the id fits the table column. */
function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[!-~]{1,255}$/.test(value);
}
