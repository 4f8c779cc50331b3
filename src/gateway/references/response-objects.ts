/** Knows which objects an answer tells of that are its caller's from then on. */
import type { ObjectKind } from '../../objects/object-request.ts';
import { carriesMark } from './object-mark.ts';
import type { OwnedPath } from './owned-path.ts';

export interface ExtractedObject {
  readonly kind: ObjectKind;
  readonly id: string;
}

type JsonMembers = Readonly<Record<string, unknown>>;
type Pairs = [ObjectKind, unknown][];

/** What answers to one request tell of. */
export interface ObjectExtractor {
  readonly fromResponse: (answer: unknown) => readonly ExtractedObject[];
  readonly fromEvent: (event: unknown) => readonly ExtractedObject[];
  /** Which events have to be read, once one has told of something. */
  readonly laterEvents: RegExp;
  /** Whether objects carry marks, which nobody is shown. */
  readonly isMarked: boolean;
}

/** Of a request about objects. */
export function extractorOf(owned: OwnedPath, method: string | undefined): ObjectExtractor {
  return {
    fromResponse: (answer) => extractObjects(owned, method, answer),
    fromEvent: (event) => extractFromEvent(owned, method, event),
    // What a stream makes, it tells of at its beginning; a response holds more as it goes on.
    laterEvents: owned.kind === 'responses' ? moreOfResponse : /$^/,
    isMarked: carriesMark(owned.kind),
  };
}

const moreOfResponse = /"response\.(?:completed|incomplete|failed|output_item\.(?:added|done))"/;

/** Whether answers may tell of objects, or show how they are marked; all others are passed on as they come. */
export function mayReturnObjects(owned: OwnedPath, method: string | undefined): boolean {
  const { kind, id, rest, isMaker } = owned;
  if (Object.hasOwn(extractByKind, kind)) return true;
  if (mayReturnItems(owned)) return method !== 'DELETE' && rest[0] !== 'input_tokens';
  if (id !== null && rest.length === 0 && carriesMark(kind)) return method !== 'DELETE';
  return method === 'POST' && (isMaker || (id === null && kind === 'threads'));
}

export function extractObjects(
  owned: OwnedPath,
  method: string | undefined,
  answer: unknown,
): ExtractedObject[] {
  const { kind, id, isMaker } = owned;
  const said = membersOf(answer);
  const told: Pairs = [];
  if (method === 'POST' && isMaker) told.push([kind, said.id]);
  if (kind === 'threads' && id === null) told.push(['threads', said.thread_id]);
  told.push(...(extractByKind[kind]?.(said) ?? []));
  if (mayReturnItems(owned))
    told.push(...extractFromItems([said.output, said.data].flatMap(listOf)));
  return withValidId(told);
}

/** What comes of some kinds while they go on. */
const extractByKind: Partial<Record<ObjectKind, (said: JsonMembers) => Pairs>> = {
  batches: ({ output_file_id, error_file_id }) => [
    ['files', output_file_id],
    ['files', error_file_id],
  ],
  uploads: ({ file }) => [['files', membersOf(file).id]],
  // One job, or what a job has: a list of checkpoints.
  fine_tuning_jobs: (said) =>
    [said, ...listOf(said.data).map(membersOf)].flatMap(
      (one): Pairs => [
        ...listOf(one.result_files).map((id): Pairs[number] => ['files', id]),
        ['models', one.fine_tuned_model],
        ['models', one.fine_tuned_model_checkpoint],
      ],
    ),
};

function mayReturnItems({ kind, rest }: OwnedPath): boolean {
  return kind === 'responses' || (kind === 'conversations' && rest[0] === 'items');
}

/** Of items of a response: themselves, and the containers in which they have run. */
function extractFromItems(items: readonly unknown[]): Pairs {
  return items.map(membersOf).flatMap(
    (item): Pairs => [
      ['items', item.id],
      ['containers', item.container_id],
      ['containers', membersOf(item.environment).container_id],
    ],
  );
}

/** An event of a stream about a response, or about a run of a new thread, which is one itself. */
function extractFromEvent(
  owned: OwnedPath,
  method: string | undefined,
  event: unknown,
): ExtractedObject[] {
  const { response, item } = membersOf(event);
  const items = owned.kind === 'responses' && item !== undefined ? extractFromItems([item]) : [];
  return [
    ...withValidId(items),
    ...extractObjects(owned, method, response ?? (item ? undefined : event)),
  ];
}

/** What a model has made when it was asked in a chat: the whole of its answer, or an event of a stream. */
export function extractFromChat(isStored: boolean, answer: unknown): ExtractedObject[] {
  const said = membersOf(answer);
  const choices = listOf(said.choices).map(membersOf);
  const spoken = choices.flatMap(
    ({ message, delta }): Pairs =>
      [message, delta].map((one) => ['audio', membersOf(membersOf(one).audio).id]),
  );
  return withValidId([
    ...(isStored ? [['chat_completions', said.id] as Pairs[number]] : []),
    ...spoken,
  ]);
}

/** As {@link extractFromChat}, in the format of Anthropic: where code has run, and what files it has written. */
export function extractFromMessage(answer: unknown): ExtractedObject[] {
  const said = membersOf(answer);
  const holders = [said, membersOf(said.message), membersOf(said.delta)];
  const blocks = [...holders.flatMap(({ content }) => listOf(content)), said.content_block];
  const results = blocks.map(membersOf).filter(({ type }) => isResultOfCode(type));
  const outputs = results.flatMap(({ content }) => listOf(membersOf(content).content));
  return withValidId([
    ...holders.map(({ container }): Pairs[number] => ['containers', membersOf(container).id]),
    ...outputs.map((output): Pairs[number] => ['files', membersOf(output).file_id]),
  ]);
}

/** An answer that another request may go on from, or the event that begins one. */
export function extractThreadMessages(answer: unknown): ExtractedObject[] {
  const said = membersOf(answer);
  return withValidId(
    [said, membersOf(said.message)].map(({ type, id }) => [
      'messages',
      type === 'message' ? id : null,
    ]),
  );
}

/** Told by the provider, and not by its model, which could be made to name anything. */
function isResultOfCode(type: unknown): boolean {
  return typeof type === 'string' && /code_execution_tool_result$/.test(type);
}

function withValidId(pairs: Pairs): ExtractedObject[] {
  return pairs.flatMap(([kind, id]) => (isId(id) ? [{ kind, id }] : []));
}

/** None of what is no object. */
function membersOf(value: unknown): JsonMembers {
  return typeof value === 'object' && value !== null ? (value as JsonMembers) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** As it fits into the table. */
function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[!-~]{1,255}$/.test(value);
}
