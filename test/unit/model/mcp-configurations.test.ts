/** Tests MCP configurations: header rules, and no secret or program in plain text. */
import { describe, expect, it } from 'vitest';
import { mcpIntegrationFaults } from '../../../src/model/mcp/mcp-configurations.ts';

function judge(
  configurations: Parameters<typeof mcpIntegrationFaults>[0]['configurations'],
): string[] {
  const faults = mcpIntegrationFaults({ configurations }, []);
  return faults.map(({ path: [, ...inner] }) => inner.join('.'));
}

describe('MCP configurations', () => {
  it('accepts credentials on the server and plain forwarded metadata', () => {
    expect(
      judge({
        custom_headers: { Authorization: 'Bearer x', 'x-api-key': 'y' },
        passthrough_header: { 'x-team': 'cx' },
        user_identity_forwarding: { method: 'claims_header', include_claims: ['sub'] },
        oauth_metadata: { token_endpoint: 'https://a.example/token' },
      }),
    ).toEqual([]);
  });

  it.each([
    [{ custom_headers: { 'Transfer-Encoding': 'x' } }, 'custom_headers.Transfer-Encoding'],
    [{ custom_headers: { 'a b': 'x' } }, 'custom_headers.a b'],
    [{ headers: { 'x-a': 'x\r\ny: z' } }, 'headers.x-a'],
    [{ passthrough_header: { Authorization: 'x' } }, 'passthrough_header.Authorization'],
    [
      { passthrough_headers: { 'x-gateway-api-key': 'x' } },
      'passthrough_headers.x-gateway-api-key',
    ],
    [
      { external_auth_config: { issuer: 'https://login.example.com', client_secret: 'x' } },
      'external_auth_config.client_secret',
    ],
    [{ oauth_metadata: { token_endpoint: 'http://a.example' } }, 'oauth_metadata.token_endpoint'],
    [{ auth: [{ apiKey: 'x' }] }, 'auth.0.apiKey'],
    [{ command: 'npx' }, 'command'],
    [{ server: { args: ['-y'] } }, 'server.args'],
  ])('rejects %j', (configurations, path) => {
    expect(judge(configurations)).toEqual([path]);
  });
});
