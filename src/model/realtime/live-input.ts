/** Bounds the tokens that messages of callers add to the conversation of a session of Gemini's live API. */
import { isObject } from '../json/read-object.ts';
import { base64Bytes } from './input-tokens.ts';
import type { LiveMessage } from './live-messages.ts';
import { objectIn, textIn } from './openai-events.ts';

/** Tokens of a second of recorded speech. */
const soundTokensPerSecond = 32;
const usualSamplesPerSecond = 16_000;
const leastSamplesPerSecond = 8_000;
const bytesOfSample = 2;
/** Tokens of the largest picture. */
const pictureTokensMax = 16_384;
/** Tokens of one frame of a video that is sent as it is recorded. */
const frameTokensMax = 2_304;

/** Tokens of a message at most: one for each byte of text, and those of its sound and pictures. */
export function liveMessageTokens(message: LiveMessage): number {
  let tokens = Buffer.byteLength(JSON.stringify(message));
  const isRealtime = isObject(message.realtimeInput);
  for (const blob of blobsIn(message)) {
    const { data } = blob;
    if (typeof data !== 'string') continue;
    const counted = blobTokens(blob, isRealtime);
    if (counted !== null) tokens += counted - data.length;
  }
  return tokens;
}

/** Whether a message has sound or pictures, which guardrails cannot read. */
export function hasMedia(message: LiveMessage): boolean {
  return blobsIn(message).length > 0;
}

/** Null for a kind of content whose tokens are at most its bytes. */
function blobTokens(blob: LiveMessage, isRealtime: boolean): number | null {
  const type = textIn(blob, 'mimeType') ?? '';
  if (type.startsWith('image/')) return isRealtime ? frameTokensMax : pictureTokensMax;
  if (!type.startsWith('audio/pcm')) return null;
  const [, rate] = /;\s*rate=(\d{1,6})\b/.exec(type) ?? [];
  const samples = rate === undefined ? usualSamplesPerSecond : Number(rate);
  const perSecond = Math.max(samples, leastSamplesPerSecond) * bytesOfSample;
  return Math.ceil((base64Bytes(blob.data) * soundTokensPerSecond) / perSecond);
}

/** Every blob where the format has one. */
function blobsIn(message: LiveMessage): LiveMessage[] {
  const { mediaChunks, audio, video } = objectIn(message, 'realtimeInput');
  const contents = [
    ...listIn(objectIn(message, 'clientContent').turns),
    ...listIn(objectIn(message, 'toolResponse').functionResponses),
  ];
  const parts = contents.flatMap((content) => listIn(objectIn({ content }, 'content').parts));
  const nested = parts.flatMap((part) => {
    const { functionResponse } = objectIn({ part }, 'part');
    return isObject(functionResponse) ? listIn(functionResponse.parts) : [];
  });
  const inline = [...parts, ...nested].map((part) => objectIn({ part }, 'part').inlineData);
  return [...listIn(mediaChunks), audio, video, ...inline].filter(isObject);
}

/** Kinds of content whose tokens grow with its bytes. */
const countedType = /^(?:image\/|audio\/|text\/)/;

/**
 * Names the first part of a message whose usage cannot be bounded: media that are neither sound, pictures nor texts,
 * and files of the provider. Null for none.
 */
export function unboundedContent(message: LiveMessage): string | null {
  const open = blobsIn(message).find((blob) => !countedType.test(textIn(blob, 'mimeType') ?? ''));
  if (open !== undefined) return 'mimeType';
  return hasMember(message, 'fileData') ? 'fileData' : null;
}

/** Looks in parts of turns only, because callers name the members of arguments and responses. */
function hasMember(message: LiveMessage, name: string): boolean {
  const turns = listIn(objectIn(message, 'clientContent').turns);
  const parts = turns.flatMap((turn) => listIn(objectIn({ turn }, 'turn').parts));
  return parts.some((part) => isObject(part) && part[name] !== undefined);
}

/**
 * Names the first setting whose usage no gateway sees: tools that the provider runs, and moving pictures of a speaker.
 * Null for none.
 */
export function unseenLiveSetting({ tools, avatarConfig }: LiveMessage): string | null {
  if (avatarConfig !== undefined && avatarConfig !== null) return 'avatarConfig';
  const isOwn = (tool: unknown): boolean =>
    isObject(tool) && Object.keys(tool).every((name) => name === 'functionDeclarations');
  return tools === undefined || tools === null || listOf(tools).every(isOwn) ? null : 'tools';
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [value];
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** Whether the provider detects the turns of the caller. */
export function detectsTurns(setup: LiveMessage): boolean {
  const config = objectIn(setup, 'realtimeInputConfig');
  return objectIn(config, 'automaticActivityDetection').disabled !== true;
}

/** The requested bound of the output; null for none, and NaN for a value that is no whole number above 0. */
export function requestedLiveOutput(setup: LiveMessage): number | null {
  const { maxOutputTokens: most } = objectIn(setup, 'generationConfig');
  if (most === undefined || most === null) return null;
  return Number.isSafeInteger(most) && (most as number) > 0 ? (most as number) : Number.NaN;
}
