/** Generates, validates and masks gateway API keys: random letters and digits, their time, and a checksum. */
import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 26;
/** Seconds since the epoch; enough for 1,800 years. */
const timeLength = 6;
const checksumLength = 6;
const plainLength = randomLength + timeLength + checksumLength;
/** Longest `API_KEY_PREFIX` whose keys pass validation. */
const prefixLengthMax = 32;
const wellFormed = new RegExp(`^[0-9A-Za-z]{${plainLength},${prefixLengthMax + plainLength}}$`);

/**
 * Generates a key value: the deployment's prefix, 26 random base62 characters (154 bits), six characters of
 * the time and six of checksum. `prefix` is alphanumeric and may be ''.
 */
export function makeApiKey(prefix: string, nowMs = Date.now()): string {
  const time = base62(Math.floor(nowMs / 1000), timeLength);
  const body = prefix + randomText(randomLength) + time;
  return body + checksum(body);
}

/**
 * When a well-formed value was made, in milliseconds since the epoch, by the clock that made it. Values of earlier
 * versions have random characters in its place, so that their time is any, most often a future one.
 */
export function timeOfApiKey(key: string): number {
  const text = key.slice(-(timeLength + checksumLength), -checksumLength);
  let seconds = 0;
  for (const character of text) seconds = seconds * alphabet.length + alphabet.indexOf(character);
  return seconds * 1000;
}

/**
 * Whether a text can be a gateway key. A mistyped or foreign key fails here without a database lookup.
 * The prefix is not compared, so keys created under an earlier prefix stay valid.
 */
export function isWellFormedApiKey(text: string): boolean {
  if (!wellFormed.test(text)) return false;
  const body = text.slice(0, -checksumLength);
  return checksum(body) === text.slice(-checksumLength);
}

/** The masked form in lists: `ab*****xyz`. */
export function maskApiKey(key: string): string {
  return `${key.slice(0, 2)}*****${key.slice(-3)}`;
}

/** Base62 by rejection sampling: bytes from the last whole multiple of 62 on are discarded. */
function randomText(length: number): string {
  const limit = 256 - (256 % alphabet.length);
  let text = '';
  while (text.length < length) {
    // One draw is almost always enough.
    for (const byte of randomBytes(2 * length)) {
      if (byte < limit && text.length < length) text += alphabet.charAt(byte % alphabet.length);
    }
  }
  return text;
}

function checksum(body: string): string {
  return base62(crc32(body), checksumLength);
}

function base62(value: number, length: number): string {
  let rest = value;
  let text = '';
  while (text.length < length) {
    text = alphabet.charAt(rest % alphabet.length) + text;
    rest = Math.floor(rest / alphabet.length);
  }
  return text;
}
