/** Verifies check digits of cards, accounts and national numbers. Inputs are compact: no blanks, no hyphens. */
import { createHash } from 'node:crypto';

export function isLuhnValid(digits: string): boolean {
  let sum = 0;
  for (let at = digits.length - 1, isDouble = false; at >= 0; at -= 1, isDouble = !isDouble) {
    const digit = digitAt(digits, at) * (isDouble ? 2 : 1);
    sum += digit > 9 ? digit - 9 : digit;
  }
  return sum % 10 === 0;
}

/** Remainder by 97 of a number whose letters stand for 10 to 35, as in an IBAN. */
export function mod97(text: string): number {
  let remainder = 0;
  for (const character of text) {
    const value = Number.parseInt(character, 36);
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97;
  }
  return remainder;
}

/** Sum of the digits times the weights, from the left. */
export function weightedSum(digits: string, weights: readonly number[]): number {
  return weights.reduce((sum, weight, at) => sum + weight * digitAt(digits, at), 0);
}

export function digitAt(digits: string, at: number): number {
  return digits.charCodeAt(at) - 48;
}

/** Multiplication table of the dihedral group of order 10. */
function dihedralProduct(a: number, b: number): number {
  if (a < 5) return b < 5 ? (a + b) % 5 : 5 + ((a + b - 5) % 5);
  return b < 5 ? 5 + ((a - 5 - b + 5) % 5) : (a - b + 5) % 5;
}

/** Eight powers of the permutation that Verhoeff's method applies by place. */
const verhoeffPermutations: readonly (readonly number[])[] = (() => {
  const base = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
  const powers = [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]];
  while (powers.length < 8) powers.push(powers.at(-1)!.map((value) => base[value]!));
  return powers;
})();

export function isVerhoeffValid(digits: string): boolean {
  let check = 0;
  for (let place = 0; place < digits.length; place += 1) {
    const digit = digitAt(digits, digits.length - 1 - place);
    check = dihedralProduct(check, verhoeffPermutations[place % 8]![digit]!);
  }
  return check === 0;
}

/** ISO 7064, MOD 11,10: the last digit is the check digit. */
export function isMod11And10Valid(digits: string): boolean {
  let product = 10;
  for (let at = 0; at < digits.length - 1; at += 1) {
    const sum = (digitAt(digits, at) + product) % 10;
    product = ((sum === 0 ? 10 : sum) * 2) % 11;
  }
  return (11 - product) % 10 === digitAt(digits, digits.length - 1);
}

const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Whether the last four bytes are the checksum of the 21 before them: version and hash of a key. */
export function isBase58CheckValid(text: string): boolean {
  let value = 0n;
  for (const character of text) value = value * 58n + BigInt(base58.indexOf(character));
  const hex = value.toString(16).padStart(50, '0');
  if (hex.length !== 50) return false;
  const bytes = Buffer.from(hex, 'hex');
  const once = createHash('sha256').update(bytes.subarray(0, 21)).digest();
  const twice = createHash('sha256').update(once).digest();
  return twice.subarray(0, 4).equals(bytes.subarray(21));
}

const bech32 = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const bech32Generators = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];

/** Whether the checksum of a segwit address in lower case is that of version 0 or of a later version. */
export function isBech32Valid(address: string): boolean {
  const separator = address.lastIndexOf('1');
  const prefix = address.slice(0, separator);
  const codes = [...prefix].map((character) => character.charCodeAt(0));
  const values = [
    ...codes.map((code) => code >> 5),
    0,
    ...codes.map((code) => code & 31),
    ...[...address.slice(separator + 1)].map((character) => bech32.indexOf(character)),
  ];
  let check = 1;
  for (const value of values) {
    const top = check >>> 25;
    check = ((check & 0x1ffffff) << 5) ^ value;
    bech32Generators.forEach((generator, bit) => {
      if ((top >>> bit) & 1) check ^= generator;
    });
  }
  return check === (address[separator + 1] === 'q' ? 1 : 0x2bc830a3);
}
