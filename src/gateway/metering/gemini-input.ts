/** Finds the input of a Gemini request that may have more tokens than bytes. */
import { isObject } from '../../model/json/read-object.ts';
import type { NonTextInput } from './non-text-input.ts';

type Params = Readonly<Record<string, unknown>>;

/** Adds nothing for a request of another format. */
export function addGeminiInput(params: Params, nonText: NonTextInput): void {
  const { contents, content, requests, systemInstruction, cachedContent, tools } = params;
  if (cachedContent !== undefined) nonText.isOpen = true;
  if (Array.isArray(tools) && tools.some(isRunByGoogle)) nonText.isOpen = true;
  for (const one of listOf(contents)) addParts(one, nonText);
  for (const one of listOf(requests)) addParts((one as Params | null)?.content, nonText);
  if (systemInstruction !== undefined) addParts(systemInstruction, nonText);
  if (content !== undefined) addParts(content, nonText);
}

function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return none;
  return Array.isArray(value) ? value : [value];
}

const none: readonly unknown[] = [];

/** Tools of Gemini have no type: each kind is a member of its own. */
function isRunByGoogle(tool: unknown): boolean {
  if (!isObject(tool) || tool.type !== undefined) return false;
  return Object.keys(tool).some((name) => googleTools.has(name));
}

const googleTools: ReadonlySet<string> = new Set([
  'codeExecution',
  'computerUse',
  'enterpriseWebSearch',
  'exaAiSearch',
  'fileSearch',
  'googleMaps',
  'googleSearch',
  'googleSearchRetrieval',
  'mcpServers',
  'parallelAiSearch',
  'retrieval',
  'urlContext',
]);

function addParts(content: unknown, nonText: NonTextInput): void {
  if (!isObject(content)) return;
  for (const part of listOf(content.parts)) {
    if (!isObject(part)) continue;
    addBytes(part.inlineData, nonText);
    if (part.fileData !== undefined || part.videoMetadata !== undefined) nonText.isOpen = true;
    if (isObject(part.functionResponse)) addParts(part.functionResponse, nonText);
  }
}

function addBytes(blob: unknown, nonText: NonTextInput): void {
  if (blob === undefined) return;
  const { mimeType, data } = isObject(blob) ? blob : {};
  const type = typeof mimeType === 'string' ? mimeType : '';
  if (type.startsWith('image/') && typeof data === 'string') {
    nonText.pictures += 1;
    nonText.pictureBytes += data.length;
  } else if (!type.startsWith('text/')) nonText.isOpen = true;
}
