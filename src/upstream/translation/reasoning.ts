/** Carries reasoning between formats: texts, and what must return unchanged to the provider that issued it. */
import type { ChatExtensions } from '../../model/services/chat-extensions.ts';
import type { Json } from '../documents/document-node.ts';

/** A piece of reasoning in the common chat form, in the published form of OpenRouter. */
export interface ReasoningDetail {
  readonly type: 'reasoning.text' | 'reasoning.summary' | 'reasoning.encrypted';
  readonly text?: string;
  readonly summary?: string;
  readonly data?: string;
  readonly signature?: string;
  readonly id?: string;
  /** Family of providers that issued it and accepts it back. */
  readonly format?: string;
  readonly index?: number;
}

export const anthropicReasoning = 'anthropic-claude-v1';
export const openAiReasoning = 'openai-responses-v1';

/** Marks a signature that the gateway made of details of another family; part of the alphabet of base64. */
const packPrefix = 'gatewright1/';
/** Signature of reasoning that its provider did not sign. */
export const unsigned = packPrefix;

/** A detail whose text is elsewhere, where guardrails judge it. */
interface PackedDetail extends Omit<ReasoningDetail, 'text' | 'summary'> {
  /** Characters of its text; absent without one. */
  readonly chars?: number;
}

/** Packs what must return unchanged beside the text of the details; nothing in it is trusted. */
export function packDetails(details: readonly ReasoningDetail[]): string {
  // Members in one order, so that equal details are packed equally.
  const packed = details.map(({ type, id, format, index, signature, data, text, summary }) => {
    const chars = (text ?? summary)?.length;
    return { type, id, format, index, signature, data, chars };
  });
  return packPrefix + Buffer.from(JSON.stringify(packed)).toString('base64');
}

/** Null when the gateway did not pack them; empty when the text is no longer that of the details. */
export function unpackDetails(packed: string, text: string): readonly ReasoningDetail[] | null {
  if (!packed.startsWith(packPrefix)) return null;
  try {
    const bytes = Buffer.from(packed.slice(packPrefix.length), 'base64');
    return withTexts(detailsIn(JSON.parse(bytes.toString('utf8'))), text);
  } catch {
    return [];
  }
}

function withTexts(packed: readonly PackedDetail[], text: string): readonly ReasoningDetail[] {
  let at = 0;
  const details = packed.map(({ chars, ...rest }): ReasoningDetail => {
    if (typeof chars !== 'number') return rest;
    const own = text.slice(at, at + chars);
    at += chars;
    return rest.type === 'reasoning.summary' ? { ...rest, summary: own } : { ...rest, text: own };
  });
  return at === text.length ? details : [];
}

/** Whether the gateway packed a signature or encrypted text. */
export function isPacked(text: unknown): boolean {
  return typeof text === 'string' && text.startsWith(packPrefix);
}

/** Members of an earlier message of the model, in the form that the service takes. */
export function earlierReasoning(
  details: readonly ReasoningDetail[],
  form: ChatExtensions['reasoning'],
): Json {
  if (details.length === 0 || form === null || form === 'calls') return {};
  if (form === 'details') return { reasoning_details: details };
  return { reasoning_content: details.map(textOfDetail).join('') };
}

/** The well-formed details of a list. */
export function detailsIn(value: unknown): readonly ReasoningDetail[] {
  if (!Array.isArray(value)) return [];
  return value.filter(
    (one): one is ReasoningDetail =>
      typeof one === 'object' && one !== null && detailTypes.has((one as Json).type),
  );
}

const detailTypes = new Set<unknown>([
  'reasoning.text',
  'reasoning.summary',
  'reasoning.encrypted',
]);

/** The readable text of a detail; '' for none. */
export function textOfDetail({ text, summary }: ReasoningDetail): string {
  return text ?? summary ?? '';
}

/** Reasoning text of a chat message or delta; several services call it `reasoning`. */
export function reasoningText(message: Json): string {
  const { reasoning_content: content, reasoning } = message;
  if (typeof content === 'string') return content;
  return typeof reasoning === 'string' ? reasoning : '';
}

/** Whether two pieces may belong together; only the first may have the id. */
function isOneId(last: { readonly id?: unknown }, { id }: ReasoningDetail): boolean {
  return (id ?? null) === null || last.id === id;
}

/** Joins the pieces in which a stream sends details. */
export function joinDetails(pieces: readonly ReasoningDetail[]): readonly ReasoningDetail[] {
  const joined: Record<string, unknown>[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    const isSame = last?.type === piece.type && last.index === piece.index && isOneId(last, piece);
    if (!isSame) {
      joined.push({ ...piece });
      continue;
    }
    for (const [name, value] of Object.entries(piece)) {
      const isText = name === 'text' || name === 'summary' || name === 'data';
      last[name] = isText ? String(last[name] ?? '') + String(value) : value;
    }
  }
  return joined as unknown as readonly ReasoningDetail[];
}
