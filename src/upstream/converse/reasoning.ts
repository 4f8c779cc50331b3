/** Names the family of reasoning that Bedrock issues and takes back. */

/** The `format` of `reasoning_details`. */
export const reasoningFormat = 'amazon-bedrock-v1';

export function isOwnReasoning(format: unknown): boolean {
  return format === reasoningFormat;
}
