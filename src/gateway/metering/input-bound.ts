/** Knows how many tokens the input of a request can have: no more than its text has bytes, and what pictures, files and tools add to that. */
import { peekMember } from '../../model/json/lazy-object.ts';

type Params = Readonly<Record<string, unknown>>;

export interface InputBound {
  /** Not fewer than the provider will count. */
  readonly inputTokens: number;
  readonly likelyInputTokens: number;
}

/** What of an input has more tokens than bytes. */
interface Beyond {
  pictures: number;
  /** Of pictures that stand in the request; they are no text. */
  pictureBytes: number;
  /** Files, sound, what the provider keeps or fetches: no more is known than what a model reads at all. */
  isOpen: boolean;
}

const bytesOfToken = 4;
/** The largest picture in full, of all models but those below. */
const pictureTokensMax = 16_384;
/** They count a picture as many more tokens than others do, each of which costs less. */
const manyTokens = { names: 'gpt-4o-mini', pictureTokensMax: 49_152 };
const pictureTokensLikely = 1_000;
/** As much as any model reads. */
export const openTokensMax = 1_000_000;
const openTokensLikely = 10_000;
/** What a provider tells a model of how tools are used. */
const toolingTokens = 1_024;
/** Parts within parts; a request has three. */
const depthMax = 8;

/** `bodyBytes` of the request as it goes out. */
export function inputBound(params: Params, bodyBytes: number, model: string | null): InputBound {
  const beyond: Beyond = { pictures: 0, pictureBytes: 0, isOpen: isOpenByItself(params) };
  for (const name of lists) look(peekMember(params, name), beyond, 0);
  const { pictures, pictureBytes, isOpen } = beyond;
  const textBytes = bodyBytes - pictureBytes;
  const each = model?.includes(manyTokens.names) ? manyTokens.pictureTokensMax : pictureTokensMax;
  return {
    inputTokens:
      textBytes +
      pictures * each +
      (isOpen ? openTokensMax : 0) +
      (isTooled(params) ? toolingTokens : 0),
    likelyInputTokens:
      Math.ceil(textBytes / bytesOfToken) +
      pictures * pictureTokensLikely +
      (isOpen ? openTokensLikely : 0),
  };
}

/** Where what is said to a model stands, in any of the formats. */
const lists = ['messages', 'input'];
/** By these, what was said or is fetched elsewhere goes along with the request. */
const openNames = [
  ...['previous_response_id', 'conversation', 'container', 'mcp_servers', 'web_search_options'],
];

function isOpenByItself(params: Params): boolean {
  const { prompt, tools, thread } = params;
  // One that the provider keeps; that of a completion is text.
  if (typeof prompt === 'object' && prompt !== null && !Array.isArray(prompt)) return true;
  if ((thread ?? null) !== null && !beginsThread(thread)) return true;
  for (const name of openNames) {
    if (params[name] !== undefined && params[name] !== null) return true;
  }
  return Array.isArray(tools) && tools.some(isRunElsewhere);
}

/** All of it stands in the request; what goes on does so from what the provider keeps. */
function beginsThread(thread: unknown): boolean {
  return (thread as { readonly type?: unknown }).type === 'create';
}

/** A provider runs it, and reads what comes of it. */
function isRunElsewhere(tool: unknown): boolean {
  const type = (tool as { readonly type?: unknown } | null)?.type;
  return type !== undefined && type !== null && !callersTools.has(type);
}

const callersTools = new Set<unknown>(['function', 'custom']);

function isTooled({ tools }: Params): boolean {
  return Array.isArray(tools) && tools.length > 0;
}

/** Messages, or parts of one. */
function look(items: unknown, beyond: Beyond, depth: number): void {
  if (!Array.isArray(items)) return;
  if (depth > depthMax) beyond.isOpen = true;
  else for (const item of items) lookAt(item, beyond, depth);
}

function lookAt(item: unknown, beyond: Beyond, depth: number): void {
  if (typeof item !== 'object' || item === null) return;
  const { type, content, output, source, audio } = item as Params;
  if (isPicture.has(type)) lookAtPicture(item as Params, beyond);
  else if (type === 'document') lookAtDocument(source, beyond, depth);
  // What the model has said aloud before is kept by the provider.
  else if (!isText.has(type) || (audio ?? null) !== null) beyond.isOpen = true;
  look(content, beyond, depth + 1);
  look(output, beyond, depth + 1);
}

/** One that stands in the request is no text of it, however many bytes it has. */
function lookAtPicture({ image_url: image, source }: Params, beyond: Beyond): void {
  beyond.pictures += 1;
  const url = typeof image === 'string' ? image : ((image ?? {}) as Params).url;
  const { data } = (source ?? {}) as Params;
  if (typeof data === 'string') beyond.pictureBytes += data.length;
  if (typeof url !== 'string' || !url.startsWith('data:')) return;
  if (url.startsWith('data:image/')) beyond.pictureBytes += url.length;
  else beyond.isOpen = true;
}

function lookAtDocument(source: unknown, beyond: Beyond, depth: number): void {
  const { type, content } = (source ?? {}) as Params;
  if (type === 'content') look(content, beyond, depth + 1);
  else if (type !== 'text') beyond.isOpen = true;
}

const isPicture = new Set<unknown>(['image_url', 'image', 'input_image']);
/** Messages, and parts that are text or hold parts. Whatever else there is may be of any size. */
const isText = new Set<unknown>([
  ...[undefined, 'message', 'text', 'input_text', 'output_text', 'refusal', 'search_result'],
  ...['tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'reasoning'],
  ...['function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output'],
]);
