/** Tests the version of the price table that log entries state. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { priceOrigin, priceTableVersion } from '../../../../src/model/pricing/price-origin.ts';

const manifest = resolve('node_modules/@pydantic/genai-prices/package.json');

describe('the version of the price table', () => {
  it('names the installed package and the date of its publication', () => {
    const { version } = JSON.parse(readFileSync(manifest, 'utf8'));
    expect(priceTableVersion).toMatch(/^genai-prices [\d.]+ \(\d{4}-\d{2}-\d{2}\)$/);
    expect(priceTableVersion).toContain(` ${version} `);
  });
});

describe('the origin of a price', () => {
  it('contains the version of the table only where the table has the model', () => {
    const pay_as_you_go = { request_token: { price: 1 }, response_token: { price: 1 } };
    const own = { config: { pay_as_you_go }, adjustments: null, version: 'team@3' };
    expect(priceOrigin(own, false)).toEqual({ source: 'model', version: 'team@3' });
    expect(priceOrigin(own, true).version).toBe(`team@3, ${priceTableVersion}`);
  });
});
