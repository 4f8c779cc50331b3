/** Verifies that check digits accept valid numbers and notice the errors that their methods promise to notice. */
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  isBase58CheckValid,
  isBech32Valid,
  isLuhnValid,
  isMod11And10Valid,
  isVerhoeffValid,
  mod97,
} from '../../../../src/guardrails/detectors/pii/checksums.ts';
import { loadPiiRules, piiSearch } from '../../../../src/guardrails/detectors/pii/find-pii.ts';
import type { Span } from '../../../../src/guardrails/detectors/span.ts';
import { embeddedPiiCategories } from '../../../../src/model/guardrails/pii-categories.ts';
import { runAtOnce } from '../../../../src/slices.ts';

const digits = fc.stringMatching(/^[0-9]{2,18}$/);
const lastDigits = [...'0123456789'];

/** Replaces one character. */
const withAt = (text: string, at: number, character: string) =>
  text.slice(0, at) + character + text.slice(at + 1);

describe.each([
  ['Luhn', isLuhnValid, '4111111111111111'],
  ['Verhoeff', isVerhoeffValid, '2363'],
  ['ISO 7064, MOD 11,10', isMod11And10Valid, '86095742719'],
] as const)('%s', (_, isValid, known) => {
  it('accepts a published number', () => {
    expect(isValid(known)).toBe(true);
  });

  it('accepts exactly one check digit behind any digits', () => {
    fc.assert(
      fc.property(digits, (start) => {
        expect(lastDigits.filter((digit) => isValid(start + digit))).toHaveLength(1);
      }),
    );
  });

  it('notices every wrong digit', () => {
    fc.assert(
      fc.property(digits, fc.nat(), fc.integer({ min: 1, max: 9 }), (start, place, shift) => {
        const valid = start + lastDigits.find((digit) => isValid(start + digit))!;
        const at = place % valid.length;
        const wrong = String((Number(valid[at]) + shift) % 10);
        expect(isValid(withAt(valid, at, wrong))).toBe(false);
      }),
    );
  });
});

it('notices every exchange of neighbours with Verhoeff', () => {
  fc.assert(
    fc.property(digits, fc.nat(), (start, place) => {
      const valid = start + lastDigits.find((digit) => isVerhoeffValid(start + digit))!;
      const at = place % (valid.length - 1);
      const [one, other] = [valid[at]!, valid[at + 1]!];
      const exchanged = withAt(withAt(valid, at, other), at + 1, one);
      expect(isVerhoeffValid(exchanged)).toBe(one === other);
    }),
  );
});

it('computes the remainder of an account number whose letters stand for 10 to 35', () => {
  // The first four characters of an IBAN come last.
  expect(mod97('370400440532013000DE89')).toBe(1);
  expect(mod97('370400440532013000DE88')).toBe(0);
  expect(mod97('WEST12345698765432GB82')).toBe(1);
});

describe('a checksum of an address', () => {
  const base58 = '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa';
  const segwit = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4';
  const taproot = 'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0';

  it('accepts published addresses', () => {
    expect(isBase58CheckValid(base58)).toBe(true);
    expect(isBech32Valid(segwit)).toBe(true);
    expect(isBech32Valid(taproot)).toBe(true);
  });

  it('notices every wrong character', () => {
    for (let at = 1; at < base58.length; at += 1) {
      const wrong = withAt(base58, at, base58[at] === 'z' ? 'y' : 'z');
      expect([wrong, isBase58CheckValid(wrong)]).toEqual([wrong, false]);
    }
    for (const address of [segwit, taproot]) {
      for (let at = 4; at < address.length; at += 1) {
        const wrong = withAt(address, at, address[at] === 'q' ? 'p' : 'q');
        expect([wrong, isBech32Valid(wrong)]).toEqual([wrong, false]);
      }
    }
    expect(isBase58CheckValid(base58.slice(0, 20))).toBe(false);
  });
});

describe('the finder of personal data', () => {
  let find: (text: string) => readonly Span[];
  beforeAll(async () => {
    const search = piiSearch(new Set(embeddedPiiCategories), await loadPiiRules());
    find = (text) => runAtOnce(search(text));
  });
  const labelsIn = (text: string) => find(text).map(({ label }) => label);

  it.each([
    ['VIN', 'the vin 1M8GDM9AXKP042788', 'the vin 1M8GDM9A1KP042788'],
    ['VIN', 'chassis 5GZCZ43D13S812715', 'chassis 5GZCZ43D23S812715'],
    ['US_ABA_ROUTING', 'routing 021000021', 'routing 021000022'],
    ['IBAN', 'DE89 3704 0044 0532 0130 00', 'DE88 3704 0044 0532 0130 00'],
    ['IN_AADHAAR', 'aadhaar 2345 6789 0124', 'aadhaar 2345 6789 0125'],
  ])('finds a %s, and none with a wrong check digit', (label, valid, wrong) => {
    expect(labelsIn(valid)).toEqual([label]);
    expect(labelsIn(wrong)).not.toContain(label);
  });

  it.each([
    '0.1.2.3',
    '10.1.2.3',
    '100.64.0.1',
    '100.127.255.1',
    '127.0.0.1',
    '169.254.1.1',
    '172.16.0.1',
    '172.31.255.1',
    '192.0.0.1',
    '192.0.2.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.19.255.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '255.255.255.255',
  ])('leaves the reserved address %s alone', (address) => {
    expect(labelsIn(`from ${address} at noon`)).toEqual([]);
  });

  it.each([
    '1.2.3.4',
    '100.63.1.2',
    '100.128.1.2',
    '169.253.1.2',
    '172.15.1.2',
    '172.32.1.2',
    '192.0.1.1',
    '192.1.2.1',
    '192.167.1.1',
    '198.17.1.2',
    '198.20.1.2',
    '198.51.101.1',
    '203.0.112.1',
    '203.1.113.1',
    '223.1.2.3',
  ])('finds the public address %s', (address) => {
    expect(labelsIn(`from ${address} at noon`)).toEqual(['IP_ADDRESS']);
  });
});
