/** Tests how the era of a server is read from its response to a modern request. */
import { describe, expect, it } from 'vitest';
import { probeEra } from '../../../../src/mcp/bridge/probe-era.ts';

const legacy = { era: 'legacy', version: null, discovery: null };

async function probed(status: number, message: unknown) {
  const received: unknown[] = [];
  const found = await probeEra(async (headers, sent) => {
    received.push({ headers, sent });
    return { status, message };
  });
  return { found, received };
}

const errorOf = (code: number, data?: object) => ({
  jsonrpc: '2.0',
  id: null,
  error: { code, message: 'no', data },
});

describe('a probe for the era', () => {
  it('is a complete request of the modern era', async () => {
    const { received } = await probed(200, null);
    expect(received).toMatchObject([
      {
        headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover' },
        sent: {
          method: 'server/discover',
          params: {
            _meta: {
              'io.modelcontextprotocol/protocolVersion': '2026-07-28',
              'io.modelcontextprotocol/clientCapabilities': {},
            },
          },
        },
      },
    ]);
  });

  it('reads a description of the server', async () => {
    const result = {
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      instructions: 'read me',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'n', version: '1' } },
    };
    expect((await probed(200, { result })).found).toEqual({
      era: 'modern',
      version: '2026-07-28',
      discovery: {
        capabilities: { tools: {} },
        info: { name: 'n', version: '1' },
        instructions: 'read me',
      },
    });
  });

  it.each([
    ['a missing capability', -32021, undefined, '2026-07-28'],
    ['a contradicting header', -32020, undefined, '2026-07-28'],
    ['another modern version', -32022, { supported: ['2027-03-01', '2026-07-28'] }, '2026-07-28'],
    ['only later versions', -32022, { supported: ['2027-03-01'] }, null],
  ])('takes an error about %s for the modern era', async (_, code, data, version) => {
    const { found } = await probed(400, errorOf(code, data));
    expect(found).toEqual({ era: 'modern', version, discovery: null });
  });

  it.each([
    ['no session', 400, errorOf(-32000)],
    ['an unknown method', 200, errorOf(-32601)],
    ['an unknown address', 404, null],
    ['a wrong method', 405, null],
    ['an empty result', 200, { result: {} }],
    ['only legacy versions', 400, errorOf(-32022, { supported: ['2025-11-25'] })],
    ['versions that are no list', 200, { result: { supportedVersions: '2026-07-28' } }],
  ])('takes %s for the legacy era', async (_, status, message) => {
    expect((await probed(status, message)).found).toEqual(legacy);
  });

  it.each([401, 403, 429, 500, 503])('fails with status %d, which says nothing', async (status) => {
    await expect(probed(status, null)).rejects.toMatchObject({ code: 'server_unusable' });
  });
});
