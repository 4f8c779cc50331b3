/** Tests the address of the MCP gateway that the MCP registry names. */
import { describe, expect, it } from 'vitest';
import { mcpAddress } from '../../../src/app/mcp-plane.ts';
import { readSettings } from '../../../src/settings.ts';

const addressWith = (variables: Record<string, string>): string | null =>
  mcpAddress(readSettings(variables, { cwd: '/nonexistent' }));

describe('the address of the MCP gateway', () => {
  it.each([
    [
      'the configured one',
      { GATEWRIGHT_MCP_URL: 'https://m.example.com/' },
      'https://m.example.com',
    ],
    ['that of this machine', { GATEWRIGHT_HOST: '127.0.0.1' }, 'http://127.0.0.1:8788'],
    [
      'that of its own port',
      { GATEWRIGHT_HOST: '::1', GATEWRIGHT_MCP_PORT: '9' },
      'http://[::1]:9',
    ],
    ['unknown on every interface', { GATEWRIGHT_HOST: '0.0.0.0' }, null],
    ['unknown with a free port', { GATEWRIGHT_HOST: '127.0.0.1', PORT: '0' }, null],
  ])('is %s', (_, variables, address) => {
    expect(addressWith(variables)).toBe(address);
  });
});
