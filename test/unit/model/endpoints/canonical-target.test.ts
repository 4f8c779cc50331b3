/** Verifies that a target has one form, or is refused where two servers could read it differently. */
import { describe, expect, it } from 'vitest';
import { canonicalTarget } from '../../../../src/model/endpoints/canonical-target.ts';
import { allEndpoints } from '../../../../src/model/endpoints/catalogue.ts';
import { endpointsWithQuery } from '../../../../src/model/endpoints/query-members.ts';
import { providerAddresses } from '../../../../src/model/services/provider-addresses.ts';

describe('the canonical form of a target', () => {
  it.each([
    ['POST', '/chat/completions', '/chat/completions'],
    ['POST', '/Chat/Completions/', '/chat/completions'],
    ['POST', '/chat/%63ompletions', '/chat/completions'],
    ['GET', '/FILES/file-AbC/Content', '/files/file-AbC/content'],
    ['GET', '/files/file%2DAbC', '/files/file-AbC'],
    ['DELETE', '/models/ft%3Agpt-4o:org', '/models/ft:gpt-4o:org'],
    ['POST', '/Unknown/Path', '/Unknown/Path'],
  ])('makes %s %s to %s', (method, path, canonical) => {
    expect(canonicalTarget(method, path, '')).toEqual({ path: canonical, query: '' });
  });

  it.each([
    '/files;x/file-1',
    '/files./file-1',
    '/files%20/file-1',
    '/files/file-1%3f',
    '/files/file-1%23',
    '/chat/completions.',
    '/chat/completions%20',
    '/chat/completions;a=b',
    '/%2563hat/completions',
    '/chat/completions%E2%80%8B',
    '/chat//completions',
    '/chat/completions%C2%A0',
    '/chat/%ff',
  ])('refuses %s', (path) => {
    expect(canonicalTarget('POST', path, '')).toHaveProperty('fault');
  });

  it('encodes a query anew', () => {
    expect(canonicalTarget('GET', '/files', '?limit=1&metadata[a]=%62')).toEqual({
      path: '/files',
      query: '?limit=1&metadata%5Ba%5D=b',
    });
  });

  it('leaves the path of every endpoint as it is', () => {
    for (const { method, path } of allEndpoints) {
      const written = path.replaceAll(/\{[^}]*\}/g, 'obj_1');
      expect(canonicalTarget(method, written, '')).toEqual({ path: written, query: '' });
    }
  });
});

describe('the catalogue', () => {
  it('has every endpoint whose query members are listed', () => {
    const requests = allEndpoints.map(({ method, path }) => `${method} ${path}`);
    expect(endpointsWithQuery.filter((one) => !requests.includes(one))).toEqual([]);
  });

  /** Requests that a provider serves beside those of OpenAI, below its known address. */
  const ownEndpoints: Partial<Record<keyof typeof providerAddresses, readonly string[]>> = {
    anthropic: ['POST /messages', 'POST /messages/batches', 'POST /complete'],
    'azure-openai': ['POST /deployments/{model}/chat/completions'],
    'mistral-ai': [
      'POST /fim/completions',
      'POST /agents/completions',
      'POST /conversations',
      'POST /conversations/{id}',
      'POST /conversations/{id}/restart',
      'POST /ocr',
      'POST /chat/moderations',
    ],
    'perplexity-ai': ['POST /async/chat/completions', 'GET /async/chat/completions/{id}'],
    'together-ai': ['POST /rerank'],
    'fireworks-ai': ['POST /rerank'],
    openrouter: ['POST /messages', 'POST /responses', 'GET /models/{model+}'],
    'x-ai': ['POST /responses', 'GET /language-models', 'POST /tokenize-text'],
    vllm: ['POST /score', 'POST /pooling', 'POST /classify'],
  };
  const requests = new Set(allEndpoints.map(({ method, path }) => `${method} ${path}`));

  it.each(Object.keys(providerAddresses))('has the endpoints of %s', (provider) => {
    const expected = ['POST /chat/completions', 'GET /models', ...(ownEndpoints[provider] ?? [])];
    expect(expected.filter((request) => !requests.has(request))).toEqual([]);
  });

  it('has each endpoint once', () => {
    expect(requests.size).toBe(allEndpoints.length);
  });
});
