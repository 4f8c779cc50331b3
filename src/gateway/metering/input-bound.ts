/** Bounds the input tokens of a request: at most one per byte of text, plus images, files and tools. */

import { peekMember } from '../../model/json/lazy-object.ts';
import { isToolOfCaller } from '../../model/json/member-name.ts';
import { isObject } from '../../model/json/read-object.ts';
import { addConverseInput } from './converse-input.ts';
import { addGeminiInput } from './gemini-input.ts';
import { addMediaMembers, addUntypedMedia } from './media-members.ts';
import type { NonTextInput } from './non-text-input.ts';

type Params = Readonly<Record<string, unknown>>;

export interface InputBound {
  /** Upper bound of what the provider counts. */
  readonly inputTokens: number;
  readonly likelyInputTokens: number;
}

const bytesOfToken = 4;
/** Tokens of the largest image, for all models except the following. */
const pictureTokensMax = 16_384;
/** These models count more tokens for an image, at a lower price per token. */
const manyTokens = { names: 'gpt-4o-mini', pictureTokensMax: 49_152 };
const pictureTokensLikely = 1_000;
/** The largest context window of any model. */
export const openTokensMax = 1_000_000;
const openTokensLikely = 10_000;
/** System prompt that providers add for tools. */
const toolingTokens = 1_024;
/** Bound of nested parts; valid requests have three levels. */
const depthMax = 8;

/** `bodyBytes` is the size of the request as it is sent to the provider. */
export function inputBound(params: Params, bodyBytes: number, model: string | null): InputBound {
  const nonText = nonTextInput(params);
  const { pictures, pictureBytes } = nonText;
  const isOpen = nonText.isOpen || (model !== null && openModel.test(model));
  const textBytes = bodyBytes - pictureBytes;
  const each = model?.includes(manyTokens.names) ? manyTokens.pictureTokensMax : pictureTokensMax;
  return {
    inputTokens:
      textBytes +
      pictures * each +
      (isOpen ? openTokensMax : 0) +
      (hasTools(params) ? toolingTokens : 0),
    likelyInputTokens: Math.ceil(textBytes / bytesOfToken) + tokensBesideText(nonText),
  };
}

/** Reads the pictures and files of a request. */
export function nonTextInput(params: Params): NonTextInput {
  const nonText: NonTextInput = { pictures: 0, pictureBytes: 0, isOpen: hasOpenInput(params) };
  for (const name of lists) scanParts(listIn(params, name), nonText, 0);
  addGeminiInput(params, nonText);
  addConverseInput(params, nonText);
  addMediaMembers(params, nonText);
  return nonText;
}

/** Likely tokens of pictures and files. */
export function tokensBesideText({ pictures, isOpen }: NonTextInput): number {
  return pictures * pictureTokensLikely + (isOpen ? openTokensLikely : 0);
}

/** Members that contain the conversation, in all formats. */
const lists = ['messages', 'input', 'inputs'];
/** Parameters that add input which is not in the request. */
const openNames = [
  'previous_response_id',
  'previous_interaction_id',
  'cached_content',
  'conversation',
  'container',
  'conversation_id',
  'mcp_servers',
  'web_search_options',
  'search_parameters',
  'enable_search',
  'data_sources',
  'connectors',
  'plugins',
  'preset',
];
/** Models that search or run tools before they answer: `openai/gpt-4o:online`, `groq/compound`. */
const openModel = /:online\b|(?:^|\/)compound/;

/** A single message or part counts like a list of one. */
function listIn(params: Params, name: string): unknown {
  const value = peekMember(params, name);
  return isObject(value) ? [value] : value;
}

function hasOpenInput(params: Params): boolean {
  const { prompt, tools, thread } = params;
  // A prompt stored at the provider; in a completion it is text.
  if (typeof prompt === 'object' && prompt !== null && !Array.isArray(prompt)) return true;
  if ((thread ?? null) !== null && !createsThread(thread)) return true;
  if (compacts(params)) return true;
  for (const name of openNames) {
    if (params[name] !== undefined && params[name] !== null) return true;
  }
  return Array.isArray(tools) && !tools.every(isToolOfCaller);
}

/** A compaction reads the whole conversation once more. */
function compacts({ context_management: management }: Params): boolean {
  const edits = isObject(management) ? management.edits : management;
  if (!Array.isArray(edits)) return false;
  return edits.some((one) => isObject(one) && String(one.type).startsWith('compact'));
}

/** A new thread is entirely in the request; a continued one is stored at the provider. */
function createsThread(thread: unknown): boolean {
  return (thread as { readonly type?: unknown }).type === 'create';
}

function hasTools({ tools, toolConfig }: Params): boolean {
  return (Array.isArray(tools) && tools.length > 0) || (toolConfig ?? null) !== null;
}

/** Scans messages, or the parts of one. */
function scanParts(items: unknown, beyond: NonTextInput, depth: number): void {
  if (!Array.isArray(items)) return;
  if (depth > depthMax) beyond.isOpen = true;
  else for (const item of items) scanPart(item, beyond, depth);
}

function scanPart(item: unknown, beyond: NonTextInput, depth: number): void {
  if (typeof item !== 'object' || item === null) return;
  const { type, content, output, source, audio } = item as Params;
  if (pictureTypes.has(type)) scanPicture(item as Params, beyond);
  else if (type === 'document') scanDocument(source, beyond, depth);
  // Earlier audio output is stored at the provider.
  else if (!textTypes.has(type) || (audio ?? null) !== null) beyond.isOpen = true;
  else if (!beyond.isOpen) addUntypedMedia(item, beyond);
  scanParts(content, beyond, depth + 1);
  scanParts(output, beyond, depth + 1);
}

/** The bytes of an inline image do not count as text. */
function scanPicture({ image_url: image, source }: Params, beyond: NonTextInput): void {
  beyond.pictures += 1;
  const url = typeof image === 'string' ? image : ((image ?? {}) as Params).url;
  const { data } = (source ?? {}) as Params;
  if (typeof data === 'string') beyond.pictureBytes += data.length;
  if (typeof url !== 'string' || !url.startsWith('data:')) return;
  if (url.startsWith('data:image/')) beyond.pictureBytes += url.length;
  else beyond.isOpen = true;
}

function scanDocument(source: unknown, beyond: NonTextInput, depth: number): void {
  const { type, content } = (source ?? {}) as Params;
  if (type === 'content') scanParts(content, beyond, depth + 1);
  else if (type !== 'text') beyond.isOpen = true;
}

const pictureTypes = new Set<unknown>(['image_url', 'image', 'input_image']);
/** Types of messages and of parts with text or inner parts. Any other type may be of any size. */
const textTypes = new Set<unknown>([
  undefined,
  'message',
  'text',
  'input_text',
  'output_text',
  'refusal',
  'search_result',
  'tool_use',
  'tool_result',
  'thinking',
  'redacted_thinking',
  'reasoning',
  'function_call',
  'function_call_output',
  'function_result',
  'model_output',
  'thought',
  'user_input',
  'custom_tool_call',
  'custom_tool_call_output',
]);
