/** Generates, validates and masks gateway API keys: random letters and digits followed by a checksum. */
import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 32;
const checksumLength = 6;
/** Longest `API_KEY_PREFIX` whose keys pass validation. */
const prefixLengthMax = 32;
const wellFormed = new RegExp(
  `^[0-9A-Za-z]{${randomLength + checksumLength},${prefixLengthMax + randomLength + checksumLength}}$`,
);

/**
 * Generates a key value: the deployment's prefix, 32 random base62 characters (190 bits) and six
 * characters of checksum. `prefix` is alphanumeric and may be ''.
 */
export function makeApiKey(prefix: string): string {
  const body = prefix + randomText(randomLength);
  return body + checksum(body);
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
  let rest = crc32(body);
  let text = '';
  while (text.length < checksumLength) {
    text = alphabet.charAt(rest % alphabet.length) + text;
    rest = Math.floor(rest / alphabet.length);
  }
  return text;
}
