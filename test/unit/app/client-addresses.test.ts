/** Tests the addresses at which clients reach inference and the MCP gateway. */
import { describe, expect, it } from 'vitest';
import { inferenceAddress, mcpAddress } from '../../../src/app/client-addresses.ts';
import { readSettings } from '../../../src/settings.ts';

describe.each([
  { what: 'inference', variable: 'INFERENCE', addressOf: inferenceAddress, port: 8787 },
  { what: 'the MCP gateway', variable: 'MCP', addressOf: mcpAddress, port: 8788 },
])('the address of $what', ({ variable, addressOf, port }) => {
  it.each([
    [
      'the configured one',
      { [`GATEWRIGHT_${variable}_URL`]: 'https://m.example.com/' },
      'https://m.example.com',
    ],
    ['that of this machine', { GATEWRIGHT_HOST: '127.0.0.1' }, `http://127.0.0.1:${port}`],
    [
      'that of its own port',
      { GATEWRIGHT_HOST: '::1', [`GATEWRIGHT_${variable}_PORT`]: '9' },
      'http://[::1]:9',
    ],
    ['unknown on every interface', { GATEWRIGHT_HOST: '0.0.0.0' }, null],
    ['unknown with a free port', { GATEWRIGHT_HOST: '127.0.0.1', PORT: '0' }, null],
  ])('is %s', (_, variables: Record<string, string>, address) => {
    expect(addressOf(readSettings(variables, { cwd: '/nonexistent' }))).toBe(address);
  });
});
