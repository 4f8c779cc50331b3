/** Parses the arguments of a tool call, which are text in a chat and an object in other formats. */
import type { DocumentNode, Json } from './document-node.ts';
import { parseExactly } from './exact-json.ts';

/** Arguments of a call in a request; an empty text is an empty object. */
export function requestedArguments(node: DocumentNode): Json {
  return objectIn(node, node.text(), ' for a provider of this format');
}

/** Arguments of a call in an answer, which may lack them. */
export function answeredArguments(node: DocumentNode): Json {
  return objectIn(node, node.isAbsent ? '' : node.text(), '');
}

/** `purpose` ends the messages about what is wrong with the text. */
function objectIn(node: DocumentNode, text: string, purpose: string): Json {
  if (text.trim() === '') return {};
  let value: unknown;
  try {
    value = parseExactly(text);
  } catch {
    node.refuse(`must be JSON${purpose}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  return node.refuse(`must be a JSON object${purpose}`);
}
