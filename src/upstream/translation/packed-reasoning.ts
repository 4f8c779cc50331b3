/** Removes reasoning that the gateway packed from a request in its own format: no provider accepts it. */
import { conversePath } from '../../model/services/bedrock-models.ts';
import type { Json } from '../documents/document-node.ts';
import { isPacked } from './reasoning.ts';
import { callOfOtherModel, requiresSignatures } from './thought-signatures.ts';

/** Whether a request of messages, of responses, of Gemini or of Converse has packed reasoning of another provider. */
export function hasPackedReasoning(path: string, request: Json): boolean {
  if (path === '/messages') return listOf(request.messages).some(hasPackedBlock);
  if (path === '/responses') return listOf(request.input).some(isPackedItem);
  if (path === conversePath) {
    return listOf(request.messages).some(({ content }) => listOf(content).some(isPackedThought));
  }
  return path.startsWith(geminiPath) && partsOf(request).some(isPackedPart);
}

/** The same request without packed reasoning. */
export function withoutPackedReasoning(path: string, request: Json): Json {
  if (path === '/responses') {
    return { ...request, input: listOf(request.input).filter((item) => !isPackedItem(item)) };
  }
  if (path.startsWith(geminiPath)) return withoutPackedParts(request);
  if (path === conversePath) return withoutPackedThoughts(request);
  const messages = listOf(request.messages).flatMap((turn) =>
    turn.role === 'assistant' ? without(turn, isPackedBlock) : [turn],
  );
  const { thinking, context_management: management, ...rest } = request;
  const isBudget = (thinking as Json | null | undefined)?.type === 'enabled';
  // Anthropic requires the thinking of a turn that continues after tool results, if a budget is set.
  if (isBudget && lacksThinking(messages)) return { ...rest, messages };
  return { ...request, messages };
}

/** The turn without some of its blocks; nothing for one that has no others. */
function without(turn: Json, isLeftOut: (block: Json) => boolean): Json[] {
  const blocks = listOf(turn.content);
  if (!blocks.some(isLeftOut)) return [turn];
  const content = blocks.filter((block) => !isLeftOut(block));
  return content.length === 0 ? [] : [{ ...turn, content }];
}

/** Claude requires the thinking of a turn that continues after results of tools, if a budget is set. */
function withoutPackedThoughts(request: Json): Json {
  const messages = listOf(request.messages).flatMap((turn) => without(turn, isPackedThought));
  const { additionalModelRequestFields: fields } = request;
  const { thinking, ...others } = Object(fields) as Json;
  const last = listOf(messages.findLast(({ role }) => role === 'assistant')?.content);
  const isContinued = last.some(({ toolUse }) => toolUse !== undefined);
  const isBudget = (thinking as Json | null | undefined)?.type === 'enabled';
  if (!isBudget || !isContinued || last[0]?.reasoningContent !== undefined) {
    return { ...request, messages };
  }
  return { ...request, messages, additionalModelRequestFields: others };
}

const geminiPath = '/v1beta/models:';

function partsOf({ contents }: Json): readonly Json[] {
  return listOf(contents).flatMap(({ parts }) => listOf(parts));
}

function isPackedPart({ thoughtSignature }: Json): boolean {
  return isPacked(thoughtSignature);
}

/** Removes thoughts of other models; a call of one keeps its place with the mark that Google requires. */
function withoutPackedParts(request: Json): Json {
  const mark = requiresSignatures(request.model) ? { thoughtSignature: callOfOtherModel } : {};
  const contents = listOf(request.contents).map((turn) => {
    if (!listOf(turn.parts).some(isPackedPart)) return turn;
    const parts = listOf(turn.parts).flatMap((part) => {
      if (!isPackedPart(part)) return [part];
      const { thoughtSignature: _packed, ...rest } = part;
      if (rest.thought === true) return [];
      return [rest.functionCall === undefined ? rest : { ...rest, ...mark }];
    });
    return { ...turn, parts };
  });
  return { ...request, contents: contents.filter(({ parts }) => listOf(parts).length > 0) };
}

function lacksThinking(messages: readonly Json[]): boolean {
  const last = messages.findLast(({ role }) => role === 'assistant');
  const content = listOf(last?.content);
  const first = content[0]?.type;
  const isContinued = content.some(({ type }) => type === 'tool_use');
  return isContinued && first !== 'thinking' && first !== 'redacted_thinking';
}

function hasPackedBlock({ role, content }: Json): boolean {
  return role === 'assistant' && listOf(content).some(isPackedBlock);
}

function isPackedBlock({ type, signature, data }: Json): boolean {
  return (
    (type === 'thinking' && isPacked(signature)) || (type === 'redacted_thinking' && isPacked(data))
  );
}

function isPackedThought({ reasoningContent: thought }: Json): boolean {
  const { reasoningText, redactedContent } = Object(thought) as Json;
  return isPacked(redactedContent) || isPacked((Object(reasoningText) as Json).signature);
}

function isPackedItem({ type, encrypted_content: encrypted }: Json): boolean {
  return type === 'reasoning' && isPacked(encrypted);
}

function listOf(value: unknown): readonly Json[] {
  if (!Array.isArray(value)) return none;
  return value.filter((one): one is Json => typeof one === 'object' && one !== null);
}

const none: readonly never[] = [];
