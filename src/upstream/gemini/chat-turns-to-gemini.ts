/** Translates the messages of a chat to the contents of Gemini. */

import type { DocumentNode, Json } from '../documents/document-node.ts';
import { parseExactly } from '../documents/exact-json.ts';
import {
  callOfOtherModel,
  geminiReasoning,
  requiresSignatures,
  signatureOfCall,
} from '../translation/thought-signatures.ts';
import * as rules from './chat-to-gemini-rules.ts';
import { fileToGemini, pictureToGemini, soundToGemini } from './media.ts';

interface Turn {
  readonly role: 'user' | 'model';
  readonly parts: Json[];
}

export interface GeminiConversation {
  /** Parts of all `system` and `developer` messages. */
  readonly system: readonly Json[];
  readonly contents: readonly Turn[];
}

/** @throws NotTranslatable */
export function geminiContents(messages: DocumentNode, model: unknown): GeminiConversation {
  const isMarked = requiresSignatures(model);
  const system: Json[] = [];
  const contents: Turn[] = [];
  /** Names of called functions by the id of the call. */
  const names = new Map<unknown, string>();
  // Results of parallel calls must be in one turn.
  const add = (role: Turn['role'], parts: readonly Json[]): void => {
    if (parts.length === 0) return;
    const last = contents.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else contents.push({ role, parts: [...parts] });
  };
  for (const message of messages.items()) {
    const role = message.at('role');
    switch (role.value) {
      case 'system':
      case 'developer':
        message.follow(rules.messageShape.kinds.system);
        system.push(...partsOf(message, textPart));
        break;
      case 'user':
        message.follow(rules.messageShape.kinds.user);
        add('user', partsOf(message, userPart));
        break;
      case 'assistant':
        add('model', modelParts(message, names, isMarked));
        break;
      case 'tool':
        message.follow(rules.messageShape.kinds.tool);
        add('user', [functionResponse(message, names)]);
        break;
      default:
        role.text();
        role.refuseUnsupported();
    }
  }
  return { system, contents };
}

/** Empty for a part that is left out. */
type ReadPart = (part: DocumentNode) => Json[];

function partsOf(message: DocumentNode, partOf: ReadPart): Json[] {
  const content = message.at('content');
  if (!content.isText) return content.items().flatMap(partOf);
  const text = content.text();
  return text === '' ? [] : [{ text }];
}

function textPart(part: DocumentNode): Json[] {
  if (part.at('type').text() !== 'text') {
    part.dropKind(rules.partShape);
    return [];
  }
  part.follow(rules.partShape.kinds.text);
  return [{ text: part.at('text').text() }];
}

const userPart: ReadPart = (part) => {
  switch (part.at('type').text()) {
    case 'image_url':
      return [pictureToGemini(part)];
    case 'file':
      return [fileToGemini(part)];
    case 'input_audio':
      return [soundToGemini(part)];
    default:
      return textPart(part);
  }
};

function modelParts(
  message: DocumentNode,
  names: Map<unknown, string>,
  isMarked: boolean,
): readonly Json[] {
  message.follow(rules.messageShape.kinds.assistant);
  const { thoughts, textSignature, callSignatures } = reasoningOf(message);
  const texts = message.at('content').isAbsent ? [] : partsOf(message, modelPart);
  const refusal = message.at('refusal');
  if (!refusal.isAbsent) texts.push({ text: refusal.text() });
  if (textSignature !== null) {
    const last = texts.pop() ?? { text: '' };
    texts.push({ ...last, thoughtSignature: textSignature });
  }
  const calls = message.at('tool_calls');
  const called = calls.isAbsent
    ? []
    : calls.items().flatMap((call) => functionCall(call, names, callSignatures));
  const [first] = called;
  if (isMarked && first !== undefined) {
    called[0] = { ...first, thoughtSignature: first.thoughtSignature ?? callOfOtherModel };
  }
  return [...thoughts, ...texts, ...called];
}

const modelPart: ReadPart = (part) => {
  if (part.at('type').text() !== 'refusal') return textPart(part);
  return [{ text: part.follow(rules.partShape.kinds.refusal).at('refusal').text() }];
};

interface Reasoning {
  readonly thoughts: readonly Json[];
  /** Signature of the text of the answer; null for none. */
  readonly textSignature: string | null;
  /** Signatures of calls by their ids. */
  readonly callSignatures: ReadonlyMap<unknown, string>;
}

/** Reasoning returns to Google only with what Google issued. */
function reasoningOf(message: DocumentNode): Reasoning {
  const details = message.at('reasoning_details');
  if (details.isAbsent) {
    for (const name of ['reasoning', 'reasoning_content']) {
      const text = message.at(name);
      if (!text.isAbsent && text.value !== '') text.dropHint();
    }
    return { thoughts: [], textSignature: null, callSignatures: new Map() };
  }
  const thoughts: Json[] = [];
  let textSignature: string | null = null;
  const callSignatures = new Map<unknown, string>();
  for (const detail of details.items()) {
    const { format, type, text, signature, data, id } = detail.json();
    if (format !== geminiReasoning) detail.dropHint();
    else if (type === 'reasoning.encrypted' && typeof data === 'string') {
      if (typeof id === 'string') callSignatures.set(id, data);
      else textSignature = data;
    } else if (typeof text === 'string') {
      const signed = typeof signature === 'string' ? { thoughtSignature: signature } : {};
      thoughts.push({ text, thought: true, ...signed });
    }
  }
  return { thoughts, textSignature, callSignatures };
}

function functionCall(
  call: DocumentNode,
  names: Map<unknown, string>,
  signatures: ReadonlyMap<unknown, string>,
): Json[] {
  if (call.at('type').value !== 'function') {
    call.dropKind(rules.callShape);
    return [];
  }
  call.follow(rules.callShape.kinds.function);
  const called = call.at('function').only('name', 'arguments');
  const id = call.at('id').text();
  const name = called.at('name').text();
  names.set(id, name);
  const signature = signatureOfCall(call.at('extra_content').value) ?? signatures.get(id);
  const part = {
    functionCall: { id, name, args: argumentsOf(called.at('arguments')) },
    ...(signature === undefined ? {} : { thoughtSignature: signature }),
  };
  return [part];
}

/** Arguments are text in a chat and an object at Gemini. */
function argumentsOf(node: DocumentNode): Json {
  const text = node.text();
  if (text.trim() === '') return {};
  const value = objectIn(text);
  return value ?? node.refuse('must be a JSON object for a provider of this format');
}

/** Null for a text that is no JSON object. */
function objectIn(text: string): Json | null {
  if (!/^\s*\{/.test(text)) return null;
  try {
    const value = parseExactly(text);
    return typeof value === 'object' && !Array.isArray(value) ? (value as Json) : null;
  } catch {
    return null;
  }
}

function functionResponse(message: DocumentNode, names: ReadonlyMap<unknown, string>): Json {
  const id = message.at('tool_call_id').text();
  const named = message.at('name');
  const name = names.get(id) ?? (named.isAbsent ? undefined : named.text());
  if (name === undefined) {
    return message.at('tool_call_id').refuse('names no call of an earlier message');
  }
  const content = message.at('content');
  const parts = partsOf(message, userPart);
  const text = parts.map((part) => (typeof part.text === 'string' ? part.text : '')).join('');
  const media = content.isText ? [] : parts.filter((part) => part.text === undefined);
  return {
    functionResponse: {
      id,
      name,
      response: responseOf(text),
      ...(media.length === 0 ? {} : { parts: media }),
    },
  };
}

/** A text becomes the member `output`, which Google documents for it. */
function responseOf(text: string): Json {
  const value = objectIn(text);
  const isWrapped = value !== null && Object.keys(value).join() === 'output';
  return value === null || isWrapped ? { output: text } : value;
}
