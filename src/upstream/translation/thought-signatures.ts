/** Carries signatures of Google between the calls of chats and the details of their reasoning. */
import type { ChatExtensions } from '../../model/services/chat-extensions.ts';
import type { Json } from '../documents/document-node.ts';
import { detailsIn, type ReasoningDetail } from './reasoning.ts';

/** Format of reasoning that Google issued. */
export const geminiReasoning = 'google-gemini-v1';

/** The signature in the extension of a tool call; undefined for none. */
export function signatureOfCall(extension: unknown): string | undefined {
  const google = (extension as { readonly google?: unknown } | null | undefined)?.google;
  const signature = (google as { readonly thought_signature?: unknown } | null | undefined)
    ?.thought_signature;
  return typeof signature === 'string' ? signature : undefined;
}

/** The signature of a call as a detail with the id of the call, for callers whose calls have no place for it. */
export function detailOfCall(id: string, data: string, index: number): ReasoningDetail {
  return { type: 'reasoning.encrypted', id, data, format: geminiReasoning, index };
}

export function extensionOfCall(signature: unknown): Json {
  if (typeof signature !== 'string') return {};
  return { extra_content: { google: { thought_signature: signature } } };
}

/** The details of a message or a delta of a chat, with the signatures of its calls. */
export function detailsOfReply({
  reasoning_details: list,
  tool_calls: calls,
}: Json): readonly ReasoningDetail[] {
  const details = detailsIn(list);
  if (!Array.isArray(calls)) return details;
  const signed = calls.flatMap((call: Json | null, at): readonly ReasoningDetail[] => {
    const data = signatureOfCall(call?.extra_content);
    const id = call?.id;
    if (data === undefined || typeof id !== 'string') return [];
    return details.some((one) => one.id === id)
      ? []
      : [detailOfCall(id, data, details.length + at)];
  });
  return signed.length === 0 ? details : [...details, ...signed];
}

/** Google's own mark for calls that another model made, without which Gemini 3 refuses them. */
export const callOfOtherModel = 'skip_thought_signature_validator';

/** Whether a model refuses turns whose first call has no signature. */
export function requiresSignatures(model: unknown): boolean {
  return typeof model === 'string' && /gemini-(?:[3-9]|\d\d)/i.test(model);
}

/** Marks the first call of each message that no signature of Google came with, for models that demand one. */
export function markedFor(
  model: unknown,
  { reasoning }: ChatExtensions,
  messages: readonly Json[],
): readonly Json[] {
  if (reasoning !== 'calls' || !requiresSignatures(model)) return messages;
  return messages.map((message) => {
    const [first, ...others] = (message.tool_calls ?? []) as readonly Json[];
    if (first === undefined || signatureOfCall(first.extra_content) !== undefined) return message;
    const marked = { ...first, ...extensionOfCall(callOfOtherModel) };
    return { ...message, tool_calls: [marked, ...others] };
  });
}

/** Whether a detail is the signature of a call. */
export function isOfCall({ id, format }: ReasoningDetail): boolean {
  return format === geminiReasoning && typeof id === 'string';
}

/** The calls of an earlier message with the signatures that Google issued for them. */
export function signedCalls(
  calls: readonly Json[],
  details: readonly ReasoningDetail[],
): readonly Json[] {
  const signatures = new Map(details.flatMap((one) => (isOfCall(one) ? [[one.id, one.data]] : [])));
  if (signatures.size === 0) return calls;
  return calls.map((call) => ({ ...call, ...extensionOfCall(signatures.get(call.id as string)) }));
}
