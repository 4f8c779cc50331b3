/** Finds the texts in one event of a stream: pieces of a text, and whole texts that are new or repeated. */
import { isObject } from '../../model/json/read-object.ts';
import {
  answerPassages,
  isFromCaller,
  type ResponseForm,
  storedPassages,
} from './answer-passages.ts';
import { type JsonObject, member, type Passage, type PassagePath } from './passages.ts';
import { addNameOf, textsIn } from './text-walk.ts';

export interface StreamText {
  /** The message or choice that contains the text. */
  readonly group: string;
  /** The text that this piece belongs to; null for a whole text. */
  readonly slot: string | null;
  readonly passage: Passage;
}

/** Where a text of an event belongs. A text that is not known to be whole is a piece. */
type Place = Pick<StreamText, 'group' | 'slot'>;

/** @throws TextsUnreadable */
export function streamTextsIn(form: ResponseForm, event: JsonObject): StreamText[] {
  const texts = form === 'stored' ? textsOfRun(event) : textsOfModel(form, event);
  return texts.filter(({ slot, passage }) => slot !== null || passage.text !== '');
}

function textsOfModel(form: Exclude<ResponseForm, 'stored'>, event: JsonObject): StreamText[] {
  return eventPassages(form, event).map((found) => {
    const passage = asReceived(found);
    const place = placeOf(form, event, passage.path);
    return { ...place, slot: passage.isName === true ? null : place.slot, passage };
  });
}

function eventPassages(form: Exclude<ResponseForm, 'stored'>, event: JsonObject): Passage[] {
  const found: Passage[] = [];
  for (const [name, value] of Object.entries(event)) {
    const path = [name];
    addNameOf(path, found);
    if (name === 'response' && form === 'responses' && isObject(value)) {
      found.push(...answerPassages('responses', value, path));
    } else if (!(name === 'delta' && isSoundEvent(event))) {
      const isAside = isAsideIn(form, event, name);
      textsIn(value, { path, isFormat: true, isAside, isAnswer: true }, found);
    }
  }
  return found;
}

/** Deltas of sound are base64. */
function isSoundEvent({ type }: JsonObject): boolean {
  return typeof type === 'string' && /audio\.delta$/.test(type);
}

const messageMembers: Readonly<Record<Exclude<ResponseForm, 'stored'>, ReadonlySet<string>>> = {
  chat_completions: new Set(['choices']),
  completions: new Set(['choices']),
  converse: new Set(['contentBlockStart', 'contentBlockDelta']),
  gemini: new Set(['candidates']),
  messages: new Set(['content_block', 'delta', 'message']),
  responses: new Set(['delta', 'item', 'part', 'refusal', 'text', 'transcript']),
  unknown: new Set(),
};

/** Whether the texts of a member accompany the message. */
function isAsideIn(
  form: Exclude<ResponseForm, 'stored'>,
  { type, part }: JsonObject,
  name: string,
): boolean {
  if (form === 'unknown') return false;
  if (!messageMembers[form].has(name)) return true;
  const kind = `${String(type)} ${String(member(part, 'type'))}`;
  return form === 'responses' && /reasoning|summary|arguments|_call/.test(kind);
}

function placeOf(
  form: Exclude<ResponseForm, 'stored'>,
  event: JsonObject,
  path: PassagePath,
): Place {
  switch (form) {
    case 'converse':
      return placeInBlocks(event, path);
    case 'gemini':
      return placeInCandidates(event, path);
    case 'messages':
      return placeInMessage(event, path);
    case 'responses':
      return placeInResponse(event, path);
    case 'unknown':
      return { group: '', slot: `${String(event.type)} ${keyOf(event, path)}` };
    default:
      return placeInChoices(event, path);
  }
}

function placeInChoices(event: JsonObject, path: PassagePath): Place {
  const [top, at, name] = path;
  if (top !== 'choices') return { group: 'beside', slot: `beside ${keyOf(event, path)}` };
  const group = indexOf(member(event, 'choices', at!), at!);
  return { group, slot: name === 'message' ? null : keyOf(event, path) };
}

/** Each event begins its parts anew, so that the texts of a candidate are one, and those of its thoughts another. */
function placeInCandidates(event: JsonObject, path: PassagePath): Place {
  const [top, at, content, parts, part, name] = path;
  if (top !== 'candidates') return { group: 'beside', slot: `beside ${keyOf(event, path)}` };
  const group = indexOf(member(event, 'candidates', at!), at!);
  const isText = content === 'content' && parts === 'parts' && name === 'text' && path.length === 6;
  if (!isText) return { group, slot: null };
  const isThought = member(event, 'candidates', at!, 'content', 'parts', part!, 'thought') === true;
  return { group, slot: `${group} ${isThought ? 'thought' : 'text'}` };
}

const blockEvents: ReadonlySet<unknown> = new Set(['content_block_start', 'content_block_delta']);

/** Deltas of a block are one text: its words, its reasoning, or the input of its call. */
function placeInBlocks(event: JsonObject, path: PassagePath): Place {
  const index = String(member(event, 'contentBlockDelta', 'contentBlockIndex'));
  const [top, ...rest] = path;
  if (top !== 'contentBlockDelta') return { group: '', slot: null };
  return { group: '', slot: `${index} ${rest.join(' ')}` };
}

function placeInMessage(event: JsonObject, path: PassagePath): Place {
  if (event.type === 'message_start') return { group: '', slot: null };
  const isBlock = blockEvents.has(event.type);
  const place = isBlock ? String(event.index) : `${String(event.type)} ${String(path[0])}`;
  return { group: '', slot: `${place} ${keyOf(event, path).slice(String(path[0]).length)}` };
}

const wholeEvents = /\.(?:added|completed|created|done|failed|incomplete|in_progress|queued)$/;

function placeInResponse(event: JsonObject, path: PassagePath): Place {
  const { type, output_index: output, content_index: content, summary_index: summary } = event;
  if (wholeEvents.test(String(type))) return { group: '', slot: null };
  const indexes = [output, content, summary].map(String).join(' ');
  return { group: '', slot: `${String(type)} ${indexes} ${keyOf(event, path)}` };
}

/** Texts of a run's messages and of its steps. Some streams wrap the event in `data` next to its name. */
function textsOfRun(event: JsonObject): StreamText[] {
  const { delta, data } = event;
  if (isObject(data)) {
    return textsOfRun(data).map(({ passage, ...rest }) => ({
      ...rest,
      passage: { ...passage, path: ['data', ...passage.path] },
    }));
  }
  const group = String(event.id);
  if (!isObject(delta) || isFromCaller(delta)) {
    return storedPassages(event).map((passage) => ({
      group,
      slot: null,
      passage: asReceived(passage),
    }));
  }
  return answerPassages('unknown', event).map((passage) => ({
    group,
    slot: passage.isName === true ? null : `${group} ${keyOf(event, passage.path)}`,
    passage: asReceived(passage),
  }));
}

/** Pieces are joined before escapes in them are read. */
function asReceived(passage: Passage): Passage {
  const { stored, ...rest } = passage;
  return stored?.encoding === 'json' ? { ...rest, text: stored.value } : passage;
}

/** The path with the indexes of parts in the whole stream, which can differ from those in one event. */
function keyOf(event: JsonObject, path: PassagePath): string {
  let current: unknown = event;
  return path
    .map((step) => {
      current = member(current, step);
      return typeof step === 'number' ? indexOf(current, step) : step;
    })
    .join(' ');
}

function indexOf(part: unknown, at: string | number): string {
  return String(member(part, 'index') ?? at);
}
