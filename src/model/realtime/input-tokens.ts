/** Bounds the tokens that events of callers add to the conversation of a realtime session. */
import { isObject } from '../json/read-object.ts';
import { objectIn, textIn } from './openai-events.ts';

type Settings = Readonly<Record<string, unknown>>;

/** A token of recorded speech lasts 100 ms. */
const soundTokensPerSecond = 10;
/** The most compact format has 8,000 samples of one byte a second. */
const leastBytesPerSecond = 8_000;
/** Sound of two bytes a sample, in the usual rate. */
const usualBytesPerSecond = 48_000;
/** Tokens of the largest picture. */
const pictureTokensMax = 16_384;

/** Bytes of recorded speech that are one token at most, in the format of the session. */
export function soundBytesPerToken(settings: Settings): number {
  return bytesPerSecond(settings) / soundTokensPerSecond;
}

function bytesPerSecond(settings: Settings): number {
  const legacy = settings.input_audio_format;
  if (typeof legacy === 'string')
    return legacy === 'pcm16' ? usualBytesPerSecond : leastBytesPerSecond;
  const { type, rate } = objectIn(objectIn(objectIn(settings, 'audio'), 'input'), 'format');
  if (type === undefined) return usualBytesPerSecond;
  if (type !== 'audio/pcm') return leastBytesPerSecond;
  if (rate === undefined) return usualBytesPerSecond;
  return typeof rate === 'number' && rate >= 8_000 ? rate * 2 : leastBytesPerSecond;
}

/** Decoded bytes of a text in base64, at most. */
export function base64Bytes(text: unknown): number {
  return typeof text === 'string' ? Math.ceil((text.length * 3) / 4) : 0;
}

/**
 * Tokens of an event at most: one for each byte of text, and those of its sound and its pictures, which are recognised
 * only where the format has them: in the parts of `item` and of the items of `response.input`.
 */
export function eventTokens(event: Settings, bytesPerToken: number): number {
  const parts = [event.item, ...listIn(objectIn(event, 'response').input)].flatMap((item) =>
    isObject(item) ? listIn(item.content) : [],
  );
  let tokens = Buffer.byteLength(JSON.stringify(event));
  for (const part of parts) {
    const { audio, image_url: picture } = isObject(part) ? part : {};
    const type = textIn(part, 'type');
    if ((type === 'input_audio' || type === 'audio') && typeof audio === 'string') {
      tokens += Math.ceil(base64Bytes(audio) / bytesPerToken) - audio.length;
    }
    if (type === 'input_image') {
      tokens += pictureTokensMax;
      if (typeof picture === 'string' && picture.startsWith('data:image/'))
        tokens -= picture.length;
    }
  }
  return tokens;
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}
