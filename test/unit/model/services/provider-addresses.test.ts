/** Verifies that every named provider has a complete row, a safe address, and its line in the documents. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { servicesInTable } from '../../../../src/model/pricing/price-table.ts';
import { accountFieldsOf } from '../../../../src/model/services/account-fields.ts';
import { aiProviders } from '../../../../src/model/services/ai-providers.ts';
import { outboundUrlFault } from '../../../../src/model/services/outbound-url.ts';
import { providerAddresses } from '../../../../src/model/services/provider-addresses.ts';
import { addressIn } from '../../../../src/model/services/service-address.ts';
import { providerLine, sampleAccount } from '../../../support/interface/provider-row.ts';

const root = resolve(import.meta.dirname, '../../../..');
const slugs = Object.keys(providerAddresses);
/** Their usual address is one of this machine. */
const local = ['mock-upstream'];
const unaddressed = ['ollama', 'vllm'];
/** Contains an address, which is checked like a custom host. */
const urlField = 'azure_foundry_url';

describe('the table of providers', () => {
  it.each(slugs)('has a complete row for %s', (slug) => {
    const row = providerAddresses[slug]!;
    const url = addressIn({ customHost: null, account: sampleAccount }, row);
    expect(url === null).toBe(unaddressed.includes(slug));
    expect(aiProviders.has(slug) || slug === 'vllm').toBe(true);
    expect(row.baseUrl === null || row.accountAddress === null).toBe(true);
    if (url === null || local.includes(slug)) return;
    expect(outboundUrlFault(url, [])).toBe(null);
    expect(url).toMatch(/^https:\/\/[^?#]+[^/]$/);
  });

  it.each(slugs)('lets integrations of %s set the fields of its address', (slug) => {
    const { dialect, accountAddress } = providerAddresses[slug]!;
    expect(accountFieldsOf(slug, dialect)).toEqual(
      expect.arrayContaining([...(accountAddress?.fields ?? [])]),
    );
  });

  it('has no address twice', () => {
    const urls = slugs.flatMap((slug) => providerAddresses[slug]!.baseUrl ?? []);
    expect(urls).toEqual([...new Set(urls)]);
  });

  it('prices only services that exist', () => {
    expect([...servicesInTable.keys()].filter((slug) => !aiProviders.has(slug))).toEqual([]);
  });

  it('is listed in docs/reference/providers.md', () => {
    const text = readFileSync(join(root, 'docs/reference/providers.md'), 'utf8');
    const [table = ''] = text.split('\n## ');
    const lines = table.split('\n').filter((line) => line.startsWith('| `'));
    expect(lines).toEqual(slugs.map(providerLine));
  });
});

describe('an address that an account field decides', () => {
  const addressed = slugs.filter((slug) => providerAddresses[slug]!.accountAddress !== null);
  const cases = addressed.flatMap((slug) =>
    providerAddresses[slug]!.accountAddress!.fields.filter((field) => field !== urlField).map(
      (field) => [slug, field] as const,
    ),
  );
  const hostile = [
    '',
    '.',
    '..',
    'a/b',
    'a?b',
    'a#b',
    'a@evil.example',
    'a:1',
    'a\\b',
    'evil.example/',
    'a b',
    'a\nb',
    '-a',
    'a-',
    'a%2eb',
    'ä',
    'a'.repeat(300),
    'evil.example#',
    'https://evil.example',
    'evil.example.',
  ];

  it.each(cases)('is null when %s has a hostile %s', (slug, field) => {
    const { urlOf } = providerAddresses[slug]!.accountAddress!;
    for (const value of hostile) expect([value, urlOf({ [field]: value })]).toEqual([value, null]);
  });

  it.each(cases)('keeps the domain of %s whatever %s is', (slug, field) => {
    const { urlOf } = providerAddresses[slug]!.accountAddress!;
    const domain = new URL(urlOf(sampleAccount)!).host.split('.').slice(-2).join('.');
    expect(domain).not.toBe('');
    for (const value of ['evil', 'evil.example', 'a.b', 'adb-1.2.azuredatabricks.net']) {
      const url = urlOf({ ...sampleAccount, [field]: value });
      if (url === null) continue;
      const { host } = new URL(url);
      expect([`.${domain}`, '.azuredatabricks.net'].some((end) => host.endsWith(end))).toBe(true);
    }
  });

  it.each([
    ['global', 'https://aiplatform.googleapis.com/v1'],
    ['eu', 'https://aiplatform.eu.rep.googleapis.com/v1'],
    ['us-east5', 'https://us-east5-aiplatform.googleapis.com/v1'],
  ])('is the host of Vertex AI in %s', (region, url) => {
    const { urlOf } = providerAddresses['vertex-ai']!.accountAddress!;
    expect(urlOf({ vertex_region: region })).toBe(url);
    expect(urlOf({})).toBe('https://aiplatform.googleapis.com/v1');
  });

  it.each([
    'https://res.services.ai.azure.com',
    'https://res.services.ai.azure.com/',
    'https://res.services.ai.azure.com/models',
    'https://res.services.ai.azure.com/openai/v1/',
    'https://res.services.ai.azure.com/anthropic',
    'https://res.services.ai.azure.com/anthropic/v1/messages',
  ])('is the root of the resource for %s', (url) => {
    const { urlOf } = providerAddresses['azure-ai']!.accountAddress!;
    expect(urlOf({ azure_foundry_url: url })).toBe('https://res.services.ai.azure.com');
  });

  it('is null for a text that is no address of a resource', () => {
    const { urlOf } = providerAddresses['azure-ai']!.accountAddress!;
    for (const url of ['', 'res', 'ftp://res.example', 'https://', 'file:///etc']) {
      expect(urlOf({ azure_foundry_url: url })).toBe(null);
    }
  });
});
