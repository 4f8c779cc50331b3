/** Finds the input of a Converse request that may have more tokens than bytes, and output limits that are not bounded. */
import { isObject } from '../../model/json/read-object.ts';
import type { NonTextInput } from './non-text-input.ts';

type Params = Readonly<Record<string, unknown>>;

/** Adds nothing for a request of another format. */
export function addConverseInput({ messages, toolConfig }: Params, nonText: NonTextInput): void {
  const { tools } = isObject(toolConfig) ? toolConfig : {};
  // A tool that Bedrock runs feeds its results to the model.
  if (Array.isArray(tools) && tools.some((one) => isObject(one) && one.systemTool !== undefined)) {
    nonText.isOpen = true;
  }
  if (!Array.isArray(messages)) return;
  for (const message of messages) if (isObject(message)) addBlocks(message.content, nonText);
}

/** Blocks of Converse have no type: each kind is a member of its own. */
function addBlocks(blocks: unknown, nonText: NonTextInput): void {
  if (!Array.isArray(blocks)) return;
  for (const block of blocks) {
    if (!isObject(block) || block.type !== undefined) continue;
    if (isObject(block.image)) addPicture(block.image, nonText);
    if (isObject(block.document)) addDocument(block.document, nonText);
    if (block.video !== undefined || block.audio !== undefined) nonText.isOpen = true;
    if (isObject(block.toolResult)) addBlocks(block.toolResult.content, nonText);
  }
}

function addPicture({ source }: Params, nonText: NonTextInput): void {
  if (source === undefined) return;
  const { bytes } = isObject(source) ? source : {};
  nonText.pictures += 1;
  if (typeof bytes === 'string') nonText.pictureBytes += bytes.length;
}

/** Only a text counts by its size. */
function addDocument({ source }: Params, nonText: NonTextInput): void {
  const { text, content } = isObject(source) ? source : {};
  if (typeof text !== 'string' && !Array.isArray(content)) nonText.isOpen = true;
}

/** Members for single models that may be limits of the output, which nothing would clamp. */
const limitName = /max.*(?:tok|len|gen)/i;

/** Returns a member for single models that may raise the output beyond the limit of the request; null for none. */
export function modelLimitIn({ additionalModelRequestFields: fields }: Params): string | null {
  const look = (value: unknown, path: string): string | null => {
    if (typeof value !== 'object' || value === null) return null;
    for (const [name, below] of Object.entries(value)) {
      const place = `${path}.${name}`;
      if (limitName.test(name)) return place;
      const within = look(below, place);
      if (within !== null) return within;
    }
    return null;
  };
  return look(fields, 'additionalModelRequestFields');
}
