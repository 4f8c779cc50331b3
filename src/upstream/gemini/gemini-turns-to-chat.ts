/** Translates the contents of a Gemini request to the messages of a chat. */

import type { ChatExtensions } from '../../model/services/chat-extensions.ts';
import type { DocumentNode, Json } from '../documents/document-node.ts';
import {
  earlierReasoning,
  isPacked,
  joinDetails,
  type ReasoningDetail,
  unpackDetails,
} from '../translation/reasoning.ts';
import {
  detailOfCall,
  extensionOfCall,
  geminiReasoning,
} from '../translation/thought-signatures.ts';
import * as rules from './gemini-request-rules.ts';
import { addressToChat, bytesToChat } from './media.ts';

/** @throws NotTranslatable */
export function chatMessages(
  request: DocumentNode,
  reasoning: ChatExtensions['reasoning'],
): Json[] {
  const messages: Json[] = [];
  const system = systemText(request.at('systemInstruction'));
  if (system !== '') messages.push({ role: 'system', content: system });
  const calls = new OpenCalls();
  const contents = request.at('contents');
  // A single content, or a single text, counts like a list of one.
  const turns = Array.isArray(contents.value) ? contents.items() : [contents];
  for (const turn of turns) {
    turn.only('role', 'parts');
    const role = turn.at('role');
    switch (role.value ?? 'user') {
      case 'user':
      case 'function':
        messages.push(...userMessages(turn, calls));
        break;
      case 'model':
        messages.push(modelMessage(turn, calls, reasoning));
        break;
      default:
        role.text();
        role.refuseUnsupported();
    }
  }
  return messages;
}

/** Calls whose results have not come yet: clients may leave out the ids, and answer in the order of the calls. */
class OpenCalls {
  readonly #open: { readonly id: string; readonly name: string }[] = [];
  #count = 0;

  /** `id` is undefined for a call without one. */
  add(id: string | undefined, name: string): string {
    const own = id ?? `call_${this.#count}`;
    this.#count += 1;
    this.#open.push({ id: own, name });
    return own;
  }

  /** Returns the id of the call that a result belongs to; undefined for none. */
  take(id: string | undefined, name: string): string | undefined {
    const at = this.#open.findIndex((call) =>
      id === undefined ? call.name === name : call.id === id,
    );
    return at < 0 ? id : this.#open.splice(at, 1)[0]!.id;
  }
}

function systemText(instruction: DocumentNode): string {
  if (instruction.isAbsent) return '';
  if (instruction.isText) return instruction.text();
  instruction.only('role', 'parts');
  const parts = instruction.at('parts');
  const items = Array.isArray(parts.value) ? parts.items() : [parts];
  return items.map((part) => part.only('text').at('text').text()).join('\n\n');
}

/** Members of parts that only hint at how they are read. */
const partHints = rules.membersOf(rules.partShape, 'hint');

export function dropHints(node: DocumentNode, names: readonly string[]): void {
  for (const name of names) if (!node.at(name).isAbsent) node.at(name).dropHint();
}

function userMessages(turn: DocumentNode, calls: OpenCalls): Json[] {
  const results: Json[] = [];
  const content: Json[] = [];
  for (const part of partsIn(turn)) {
    part.follow(rules.partShape.kinds['']);
    const response = part.at('functionResponse');
    if (response.isAbsent) content.push(userPart(part));
    else results.push(toolMessage(response, calls));
  }
  if (content.length === 0) return results;
  return [...results, { role: 'user', content: plainOf(content) }];
}

/** A list of texts alone stays a list; a single text becomes the content itself. */
function plainOf(content: readonly Json[]): unknown {
  return content.length === 1 && content[0]!.type === 'text' ? content[0]!.text : content;
}

function partsIn(turn: DocumentNode): DocumentNode[] {
  const parts = turn.at('parts');
  if (parts.isAbsent) return [];
  return Array.isArray(parts.value) ? parts.items() : [parts];
}

function userPart(part: DocumentNode): Json {
  part.only('text', 'inlineData', 'fileData', 'thoughtSignature', ...partHints);
  if (!part.at('inlineData').isAbsent) return bytesToChat(part.at('inlineData'));
  if (!part.at('fileData').isAbsent) return addressToChat(part.at('fileData'));
  return { type: 'text', text: part.at('text').text() };
}

function toolMessage(response: DocumentNode, calls: OpenCalls): Json {
  response.follow(rules.resultShape.kinds['']);
  const id = response.at('id');
  const name = response.at('name').text();
  const callId = calls.take(id.isAbsent || id.value === '' ? undefined : id.text(), name);
  if (callId === undefined) return response.refuse('belongs to no functionCall before it');
  return { role: 'tool', tool_call_id: callId, content: textOfResult(response.at('response')) };
}

/** A text that is the only output is sent as it is. */
function textOfResult(response: DocumentNode): string {
  if (response.isAbsent) return '';
  const value = response.json();
  const { output } = value;
  const isText = typeof output === 'string' && Object.keys(value).length === 1;
  return isText ? output : JSON.stringify(value);
}

function modelMessage(
  turn: DocumentNode,
  calls: OpenCalls,
  form: ChatExtensions['reasoning'],
): Json {
  const texts: string[] = [];
  const details: ReasoningDetail[] = [];
  const called: Json[] = [];
  for (const part of partsIn(turn)) {
    part.follow(rules.partShape.kinds['']);
    const { thought, thoughtSignature: signature } = part.json();
    const call = part.at('functionCall');
    const isForeign = isPacked(signature);
    if (isForeign) details.push(...foreignDetails(part));
    if (!call.isAbsent) {
      part.only('functionCall', 'thoughtSignature', ...partHints);
      const own = isForeign ? undefined : signature;
      const sent = toolCall(call, calls, form === 'calls' ? own : undefined);
      called.push(sent);
      if (typeof own === 'string') details.push(detailOfCall(sent.id, own, details.length));
    } else if (thought === true) {
      const text = part.only('thought', 'text', 'thoughtSignature', ...partHints).at('text');
      const words = text.isAbsent ? '' : text.text();
      if (form === null) part.dropHint(`${turn.path}.parts[thought]`);
      if (!isForeign) details.push(thoughtDetail(words, signature, details.length));
    } else {
      texts.push(modelText(part));
      if (typeof signature === 'string' && !isForeign) {
        const about = { format: geminiReasoning, index: details.length };
        details.push({ type: 'reasoning.encrypted', data: signature, ...about });
      }
    }
  }
  return {
    role: 'assistant',
    content: texts.length === 0 ? null : texts.join(''),
    ...earlierReasoning(joinDetails(details), form),
    ...(called.length === 0 ? {} : { tool_calls: called }),
  };
}

/** Reasoning of another family, in the pieces in which a stream sent it. */
function foreignDetails(part: DocumentNode): readonly ReasoningDetail[] {
  const { text, thoughtSignature } = part.json();
  const words = typeof text === 'string' ? text : '';
  return unpackDetails(String(thoughtSignature), words) ?? [];
}

function thoughtDetail(text: string, signature: unknown, index: number): ReasoningDetail {
  const signed = typeof signature === 'string' ? { signature } : {};
  return { type: 'reasoning.text', text, ...signed, format: geminiReasoning, index };
}

/** Code that Google ran becomes text. */
function modelText(part: DocumentNode): string {
  part.only(
    'text',
    'thought',
    'thoughtSignature',
    'executableCode',
    'codeExecutionResult',
    ...partHints,
  );
  const code = part.at('executableCode');
  const result = part.at('codeExecutionResult');
  if (!code.isAbsent) return `\n\`\`\`\n${code.at('code').text()}\n\`\`\`\n`;
  if (!result.isAbsent) return `\n\`\`\`\n${String(result.at('output').value ?? '')}\n\`\`\`\n`;
  return part.at('text').isAbsent ? '' : part.at('text').text();
}

function toolCall(
  call: DocumentNode,
  calls: OpenCalls,
  signature: unknown,
): { readonly id: string } & Json {
  call.follow(rules.callShape.kinds['']);
  const name = call.at('name').text();
  const id = call.at('id');
  const args = call.at('args');
  return {
    id: calls.add(id.isAbsent || id.value === '' ? undefined : id.text(), name),
    type: 'function',
    function: { name, arguments: JSON.stringify(args.isAbsent ? {} : args.json()) },
    ...extensionOfCall(signature),
  };
}
