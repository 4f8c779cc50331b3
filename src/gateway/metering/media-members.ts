/** Finds pictures and files in members whose objects have no type, as embeddings, rankings and lenient chats have them. */
import { memberNames } from '../../model/json/lazy-object.ts';
import { wordsOfName } from '../../model/json/member-name.ts';
import { isObject } from '../../model/json/read-object.ts';
import type { NonTextInput } from './non-text-input.ts';

type Params = Readonly<Record<string, unknown>>;
type MediaKind = 'picture' | 'open';

/** Members of requests that contain no input, or whose parts have types (`input-bound.ts` reads those). */
const skippedMembers: ReadonlySet<string> = new Set([
  'client_metadata',
  'contents',
  'functions',
  'headers',
  'input',
  'inputs',
  'messages',
  'metadata',
  'model',
  'requests',
  'response_format',
  'systemInstruction',
  'tool_choice',
  'toolConfig',
  'tools',
]);

/** Members that are read at most; a request with more of them may contain anything. */
const visitsMax = 20_000;

const mediaName =
  /image|picture|photo|video|audio|sound|speech|pdf|file|media|attachment|ur[il]s?\b|url|uri/i;
const pictureWords = new Set(['image', 'images', 'picture', 'pictures', 'photo', 'photos']);
const openWords = new Set([
  'attachment',
  'attachments',
  'audio',
  'audios',
  'file',
  'files',
  'media',
  'pdf',
  'pdfs',
  'sound',
  'speech',
  'video',
  'videos',
]);
const addressWords = new Set(['uri', 'uris', 'url', 'urls']);
/** Members with texts whose addresses say where they are from. */
const quotedMembers: ReadonlySet<string> = new Set(['documents', 'citations', 'sources']);
/** Words of addresses that no model reads. */
const otherWords = new Set(['callback', 'icon', 'logo', 'proxy', 'referer', 'webhook']);

/** Returns what a member of this name contains; null for something else. */
function kindOf(name: string, isQuoted = false): MediaKind | null {
  if (!mediaName.test(name)) return null;
  const words = wordsOfName(name);
  if (words.some((word) => otherWords.has(word))) return null;
  // A file of the account, which may be of any size.
  if (words.some((word) => openWords.has(word)) && /^ids?$/.test(words.at(-1)!)) return 'open';
  if (words.some((word) => pictureWords.has(word))) return 'picture';
  const isRead = (word: string): boolean =>
    openWords.has(word) || (addressWords.has(word) && !isQuoted);
  return words.some(isRead) ? 'open' : null;
}

/** An address, or bytes in base64; settings such as `1:1` and `wav` are neither. */
function isMedia(text: string, name: string): boolean {
  return /_?ids?$/i.test(name) || text.length > 64 || /^[a-z][a-z\d+.-]*:/i.test(text);
}

/** Adds what the members of a request beside its typed parts contain. */
export function addMediaMembers(params: Params, nonText: NonTextInput): void {
  let visits = 0;
  const visit = (
    name: string,
    value: unknown,
    within: MediaKind | null,
    isQuoted: boolean,
  ): void => {
    if (typeof value === 'string') {
      if (within !== null && isMedia(value, name)) addMedia(within, nonText);
      return;
    }
    if (typeof value !== 'object' || value === null || nonText.isOpen) return;
    if (Array.isArray(value)) {
      for (const item of value) visit(name, item, within, isQuoted);
      return;
    }
    for (const [below, inner] of Object.entries(value)) {
      visits += 1;
      if (visits > visitsMax) nonText.isOpen = true;
      if (nonText.isOpen) return;
      if (skippedMembers.has(below)) continue;
      visit(below, inner, within ?? kindOf(below, isQuoted), isQuoted || quotedMembers.has(below));
    }
  };
  for (const name of memberNames(params)) {
    if (!skippedMembers.has(name)) {
      visit(name, params[name], kindOf(name), quotedMembers.has(name));
    }
  }
}

function addMedia(kind: MediaKind, nonText: NonTextInput): void {
  if (kind === 'picture') nonText.pictures += 1;
  else nonText.isOpen = true;
}

/** Members of typed parts and of messages that contain texts, or that their types explain. */
const textMembers: ReadonlySet<string> = new Set([
  'audio',
  'cache_control',
  'content',
  'id',
  'name',
  'output',
  'role',
  'source',
  'text',
  'type',
]);

/** Adds pictures and files in members of a message or part whose type says that it is a text, or that has none. */
export function addUntypedMedia(item: object, nonText: NonTextInput): void {
  for (const name in item) {
    if (textMembers.has(name) || kindOf(name) === null) continue;
    const value = (item as Params)[name];
    if (!isConversePicture(name, value)) addMediaMembers({ [name]: value }, nonText);
  }
}

/** Pictures of Converse have a source, which `converse-input.ts` reads. */
function isConversePicture(name: string, value: unknown): boolean {
  return name === 'image' && isObject(value) && value.source !== undefined;
}
