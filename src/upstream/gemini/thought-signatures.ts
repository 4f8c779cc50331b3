/** Carries signatures of reasoning across formats, unchanged for the family of models that issued them. */
import type { Json } from '../documents/document-node.ts';

/** Format of reasoning that Google issued. */
export const geminiReasoning = 'google-gemini-v1';

/** Begins signatures that contain the reasoning of another family. */
const foreignPrefix = Buffer.from('gatewright-reasoning:');

/** Returns the signature that a Gemini client sends back for the reasoning of another family. */
export function signatureOfForeign(detail: Json): string {
  return Buffer.concat([foreignPrefix, Buffer.from(JSON.stringify(detail))]).toString('base64');
}

/** Returns the reasoning of another family; null for a signature that Google issued. */
export function foreignReasoning(signature: string): Json | null {
  const bytes = Buffer.from(signature, 'base64');
  if (!bytes.subarray(0, foreignPrefix.length).equals(foreignPrefix)) return null;
  try {
    const detail: unknown = JSON.parse(bytes.toString('utf8', foreignPrefix.length));
    return typeof detail === 'object' && detail !== null ? (detail as Json) : null;
  } catch {
    return null;
  }
}

/** The signature in the extension of a tool call; undefined for none. */
export function signatureOfCall(extension: unknown): string | undefined {
  const google = (extension as { readonly google?: unknown } | null | undefined)?.google;
  const signature = (google as { readonly thought_signature?: unknown } | null | undefined)
    ?.thought_signature;
  return typeof signature === 'string' ? signature : undefined;
}

export function extensionOfCall(signature: unknown): Json {
  if (typeof signature !== 'string') return {};
  return { extra_content: { google: { thought_signature: signature } } };
}
