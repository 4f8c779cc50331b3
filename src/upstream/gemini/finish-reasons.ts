/** Maps the reasons for which Gemini ends an answer to those of a chat, and back. */

/** Reasons that are a filter's; all others than these and the following two are `stop`. */
const filterReasons: ReadonlySet<string> = new Set([
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
  'MODEL_ARMOR',
]);

/** Reasons of an answer that is complete, as far as the model goes. */
const plainReasons: ReadonlySet<string> = new Set([
  'STOP',
  'MAX_TOKENS',
  'FINISH_REASON_UNSPECIFIED',
]);

export function chatFinishReason(reason: string, hasCalls: boolean): string {
  if (reason === 'MAX_TOKENS') return 'length';
  if (filterReasons.has(reason)) return 'content_filter';
  return hasCalls ? 'tool_calls' : 'stop';
}

/**
 * Returns a refusal for an answer that ended in a way that a chat has no reason for, such as
 * `MALFORMED_FUNCTION_CALL`; null for any other.
 */
export function refusalOf(reason: string, message: unknown): string | null {
  const isUsual = plainReasons.has(reason) || filterReasons.has(reason);
  const explained = typeof message === 'string' && message !== '' ? `: ${message}` : '';
  if (isUsual)
    return filterReasons.has(reason) && explained !== '' ? `${reason}${explained}` : null;
  return `The provider ended its answer with ${reason}${explained}`;
}

/** A refusal of the model is a text of Gemini that ends for safety. */
export function geminiFinishReason(reason: unknown, hasRefused: boolean): string {
  const usual = hasRefused ? 'SAFETY' : 'STOP';
  return (typeof reason === 'string' ? geminiReasons.get(reason) : undefined) ?? usual;
}

const geminiReasons = new Map([
  ['length', 'MAX_TOKENS'],
  ['content_filter', 'SAFETY'],
]);
