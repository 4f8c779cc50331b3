/** Estimates how many input tokens a provider counts that has no endpoint to count them. */
import { nonTextInput, tokensBesideText } from './input-bound.ts';

type Params = Readonly<Record<string, unknown>>;

/** Letters of a short word, or of a part of a long one. */
const lettersOfToken = 6;
const digitsOfToken = 3;
/** Signs in a row, such as `"},{"`. */
const signsOfToken = 2;
/** Bytes of a letter outside of ASCII, of which a token has one or two. */
const otherBytesOfToken = 3;
/** Tokens of a byte of text between pictures, which would distort what is measured. */
const tokensOfByteUsual = 0.3;
/** Longer texts are judged by their beginning. */
const scannedBytesMax = 256 * 1024;

const [sign, lower, upper, digit, blank, other] = [0, 1, 2, 3, 4, 5];
const kindOfByte = new Uint8Array(256).map((_, byte) => kindOf(byte));
const bytesOfToken = [
  signsOfToken,
  lettersOfToken,
  lettersOfToken,
  digitsOfToken,
  Number.POSITIVE_INFINITY,
  otherBytesOfToken,
];
const backslash = 0x5c;

function kindOf(byte: number): number {
  const char = String.fromCharCode(byte);
  if (byte > 0x7f) return other;
  if (/[a-z_]/.test(char)) return lower;
  if (/[A-Z]/.test(char)) return upper;
  if (/\d/.test(char)) return digit;
  return /\s/.test(char) ? blank : sign;
}

/** `body` is the request in JSON, whose syntax stands for what the templates of providers add. */
export function estimateInput(params: Params, body: Buffer): number {
  const beside = nonTextInput(params);
  const { pictureBytes } = beside;
  const scanned = body.subarray(0, scannedBytesMax);
  const density =
    pictureBytes > 0 || scanned.length === 0
      ? tokensOfByteUsual
      : tokensOfText(scanned) / scanned.length;
  const textBytes = Math.max(0, body.length - pictureBytes);
  return Math.ceil(textBytes * density) + tokensBesideText(beside);
}

/** Counts words, numbers and signs in pieces of the usual sizes. */
function tokensOfText(bytes: Buffer): number {
  let tokens = 0;
  let at = 0;
  while (at < bytes.length) {
    const from = at;
    const first = kindOfByte[bytes[at]!]!;
    let kind = first;
    do {
      kind = kindOfByte[bytes[at]!]!;
      at += 1;
    } while (at < bytes.length && continues(kind, kindOfByte[bytes[at]!]!));
    // An escape such as `\n` is one sign.
    const isEscape = kind === sign && bytes[at - 1] === backslash;
    if (isEscape && kindOfByte[bytes[at]!] === lower) at += 1;
    tokens += Math.ceil((at - from) / bytesOfToken[first]!);
  }
  return tokens;
}

/** A word may begin with capital letters, and ends before the next one. */
function continues(kind: number, next: number): boolean {
  return kind === next || (kind === upper && next === lower);
}
