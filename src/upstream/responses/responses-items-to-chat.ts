/** Translates the items of a response to chat messages. */
import type { ChatExtensions } from '../../model/services/chat-extensions.ts';
import type { DocumentNode, Json } from '../documents/document-node.ts';
import type { MemberRules } from '../documents/member-rules.ts';
import { customToolArguments } from '../translation/custom-tools.ts';
import {
  earlierReasoning,
  openAiReasoning,
  type ReasoningDetail,
  unpackDetails,
} from '../translation/reasoning.ts';
import { isOfCall, signedCalls } from '../translation/thought-signatures.ts';
import * as rules from './response-rules.ts';
import { functionName, toolSearchName } from './tool-names.ts';

interface Message {
  readonly role: string;
  content: unknown;
  tool_calls?: Json[];
  readonly tool_call_id?: string;
  readonly reasoning_content?: string;
  readonly reasoning_details?: readonly ReasoningDetail[];
}

/** @throws NotTranslatable */
export function chatMessagesFromItems(
  instructions: DocumentNode,
  input: DocumentNode,
  extensions: ChatExtensions,
): Json[] {
  const messages = new ChatMessages(extensions);
  if (!instructions.isAbsent) messages.add({ role: 'system', content: instructions.text() });
  if (input.isText) messages.add({ role: 'user', content: input.text() });
  else for (const item of input.items()) messages.addItem(item);
  return messages.list();
}

class ChatMessages {
  readonly #extensions: ChatExtensions;
  readonly #messages: Message[] = [];
  /** Pictures and files of tool results, which follow the results. */
  #attached: Json[] = [];
  /** Reasoning that belongs to the next message or call of the model. */
  #reasoning: ReasoningDetail[] = [];

  constructor(extensions: ChatExtensions) {
    this.#extensions = extensions;
  }

  list(): Json[] {
    this.#endReasoning();
    this.#addAttached();
    return this.#messages.map((message) => this.#finished(message));
  }

  /** Moves signatures to the calls for a service that takes them there. */
  #finished(message: Message): Json {
    const { reasoning_details: details, ...rest } = message;
    if (this.#extensions.reasoning !== 'calls' || details === undefined) return { ...message };
    const { tool_calls: calls } = rest;
    return calls === undefined ? rest : { ...rest, tool_calls: signedCalls(calls, details) };
  }

  add(message: Message): void {
    if (message.role !== 'assistant') this.#endReasoning();
    if (message.role !== 'tool') this.#addAttached();
    this.#messages.push(
      message.role === 'assistant' ? { ...message, ...this.#takeReasoning() } : message,
    );
  }

  addItem(item: DocumentNode): void {
    const kind = String(item.at('type').value ?? 'message');
    const ofKind = Object.hasOwn(rules.itemShape.kinds, kind)
      ? rules.itemShape.kinds[kind]
      : undefined;
    if (!(ofKind instanceof Map)) {
      item.dropKind(rules.itemShape);
      return;
    }
    item.follow(ofKind);
    if (kind === 'message') this.add(messageOf(item));
    else if (kind === 'reasoning') this.#addReasoning(item);
    else if (kind === 'tool_search_output') this.add(foundTools(item));
    else if (kind.endsWith('_output')) this.#addOutput(item);
    else if (kind.endsWith('_call')) this.#addCall(item, ...calledBy(item, kind));
  }

  /** The calls of one turn belong to one message. */
  #addCall(item: DocumentNode, name: string, text: string): void {
    const call = {
      id: item.at('call_id').text(),
      type: 'function',
      function: { name, arguments: text },
    };
    const last = this.#messages.at(-1);
    if (last?.role === 'assistant') {
      last.tool_calls = [...(last.tool_calls ?? []), call];
      Object.assign(last, joinedReasoning(last, this.#takeReasoning()));
    } else this.add({ role: 'assistant', content: null, tool_calls: [call] });
  }

  #addOutput(item: DocumentNode): void {
    const id = item.at('call_id').text();
    const output = item.at('output');
    const parts = output.isText ? [] : userParts(output);
    const texts = parts.filter(({ type }) => type === 'text').map(({ text }) => text);
    const others = parts.filter(({ type }) => type !== 'text');
    const content = output.isText ? output.text() : texts.join('');
    this.add({ role: 'tool', tool_call_id: id, content });
    if (others.length === 0) return;
    this.#attached.push({ type: 'text', text: `Result of tool call ${id}:` }, ...others);
  }

  /** Messages of `tool` contain texts only. */
  #addAttached(): void {
    const parts = this.#attached;
    if (parts.length === 0) return;
    this.#attached = [];
    this.#messages.push({ role: 'user', content: parts });
  }

  #addReasoning(item: DocumentNode): void {
    const form = this.#extensions.reasoning;
    const details = detailsOf(item);
    if (details.length === 0) return;
    const accepted = form === null ? [] : form === 'calls' ? details.filter(isOfCall) : details;
    if (accepted.length < details.length) {
      item.at('type').dropHint(`${item.path.replace(/\[\d+\]$/, '')}[reasoning]`);
    }
    for (const one of accepted) {
      this.#reasoning.push({ ...one, index: this.#reasoning.length });
    }
  }

  /** Reasoning after the last message or call of the model, such as its signature, belongs to that message. */
  #endReasoning(): void {
    const last = this.#messages.at(-1);
    const reasoning = this.#takeReasoning();
    if (last?.role === 'assistant') Object.assign(last, joinedReasoning(last, reasoning));
  }

  #takeReasoning(): Reasoning {
    const details = this.#reasoning;
    this.#reasoning = [];
    const { reasoning: form } = this.#extensions;
    return form === 'calls' ? { reasoning_details: details } : earlierReasoning(details, form);
  }
}

type Reasoning = Pick<Message, 'reasoning_content' | 'reasoning_details'>;

/** Reasoning between the calls of one turn follows that before them. */
function joinedReasoning(earlier: Reasoning, later: Reasoning): Reasoning {
  const { reasoning_content: text, reasoning_details: details } = later;
  if (text !== undefined) return { reasoning_content: (earlier.reasoning_content ?? '') + text };
  if (details === undefined) return {};
  const all = [...(earlier.reasoning_details ?? []), ...details];
  return { reasoning_details: all.map((one, index) => ({ ...one, index })) };
}

/** Reads the text of a reasoning item, and what must return to the provider that issued it. */
function detailsOf(item: DocumentNode): readonly ReasoningDetail[] {
  const texts = ['summary', 'content'].flatMap((name) => {
    const parts = item.at(name);
    return parts.isAbsent ? [] : parts.items().map((part) => followPart(part).at('text').text());
  });
  const text = texts.join('\n\n');
  const encrypted = item.at('encrypted_content');
  const packed = encrypted.isText ? unpackDetails(encrypted.text(), text) : null;
  if (packed !== null && packed.length > 0) return packed;
  const details: ReasoningDetail[] = text === '' ? [] : [{ type: 'reasoning.text', text }];
  if (encrypted.isText && packed === null) {
    const data = encrypted.text();
    details.push({ type: 'reasoning.encrypted', data, format: openAiReasoning });
  }
  return details;
}

/** Name and arguments of the function that an item calls. */
function calledBy(item: DocumentNode, kind: string): [name: string, text: string] {
  switch (kind) {
    case 'custom_tool_call':
      return [nameOf(item), customToolArguments(item.at('input').text())];
    case 'tool_search_call':
      return [toolSearchName, searchArguments(item.at('arguments'))];
    default:
      return [nameOf(item), item.at('arguments').text()];
  }
}

function nameOf(item: DocumentNode): string {
  const namespace = item.at('namespace');
  return functionName(namespace.isAbsent ? null : namespace.text(), item.at('name').text());
}

function searchArguments(value: DocumentNode): string {
  if (value.isAbsent) return '{}';
  return value.isText ? value.text() : JSON.stringify(value.value);
}

/** Names the tools that a search has found; the request contains them. */
function foundTools(item: DocumentNode): Message {
  const tools = item.at('tools');
  const names = (tools.isAbsent ? [] : tools.items()).map(({ value }) => (value as Json)?.name);
  const content = `Available tools: ${names.filter((one) => typeof one === 'string').join(', ')}`;
  return { role: 'tool', tool_call_id: item.at('call_id').text(), content };
}

function messageOf(item: DocumentNode): Message {
  const role = item.at('role');
  const content = item.at('content');
  switch (role.value) {
    case 'assistant':
      return { role: 'assistant', content: content.isText ? content.text() : joinedText(content) };
    case 'user':
      return { role: 'user', content: content.isText ? content.text() : userParts(content) };
    case 'system':
    case 'developer':
      return { role: 'system', content: content.isText ? content.text() : joinedText(content) };
    default:
      return role.refuseUnsupported();
  }
}

/** Concatenates the text parts. */
function joinedText(content: DocumentNode): string {
  return content
    .items()
    .map((part) => textOf(part) ?? '')
    .join('');
}

/** Null for a part that is no text, and is left out. */
function textOf(part: DocumentNode): string | null {
  const { value: type } = part.at('type');
  if (type === 'refusal') return followPart(part).at('refusal').text();
  if (textTypes.has(type)) return followPart(part).at('text').text();
  part.at('type').dropMeaning();
  return null;
}

const textTypes = new Set<unknown>(['input_text', 'output_text', 'text']);

function followPart(part: DocumentNode): DocumentNode {
  const kind = String(part.at('type').value);
  const ofKind = Object.hasOwn(rules.partShape.kinds, kind)
    ? rules.partShape.kinds[kind]
    : undefined;
  return ofKind instanceof Map ? part.follow(ofKind as MemberRules) : part;
}

function userParts(content: DocumentNode): Json[] {
  return content.items().flatMap((part) => {
    switch (part.at('type').value) {
      case 'input_image':
        return pictureOf(followPart(part));
      case 'input_file':
        return fileOf(followPart(part));
      case 'input_audio':
        return [{ type: 'input_audio', input_audio: part.at('input_audio').json() }];
      default: {
        const text = textOf(part);
        return text === null ? [] : [{ type: 'text', text }];
      }
    }
  });
}

/** Empty for a stored file that is left out. */
function fileOf(part: DocumentNode): Json[] {
  const data = part.at('file_data');
  if (data.isAbsent && !(part.at('file_id').isAbsent && part.at('file_url').isAbsent)) return [];
  const name = part.at('filename');
  const named = name.isAbsent ? {} : { filename: name.text() };
  return [{ type: 'file', file: { file_data: data.text(), ...named } }];
}

/** Empty for a stored picture that is left out. */
function pictureOf(part: DocumentNode): Json[] {
  const image = part.at('image_url');
  if (image.isAbsent && !part.at('file_id').isAbsent) return [];
  const detail = part.at('detail');
  const more = detail.isAbsent ? {} : { detail: detail.text() };
  return [{ type: 'image_url', image_url: { url: image.text(), ...more } }];
}
