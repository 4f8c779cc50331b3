/** Checks the settings of the MCP gateway as OAuth resource server. */
import { describe, expect, it } from 'vitest';
import { inspectSettings } from '../../../src/settings.ts';

const keys = { GATEWRIGHT_JWT_JWKS_URIS: 'https://login.example.com/keys' };
const inspect = (env: Record<string, string>) => inspectSettings(env, { cwd: '/nowhere' });
const faultsOf = (env: Record<string, string>) => inspect(env).faults.join('\n');

describe('the address of the MCP gateway', () => {
  it('has no slash at its end and may have a path', () => {
    const urlOf = (url: string) => inspect({ GATEWRIGHT_MCP_URL: url }).settings.mcp.publicUrl;
    expect(urlOf('https://mcp.example.com')).toBe('https://mcp.example.com');
    expect(urlOf('https://MCP.example.com/tools/')).toBe('https://mcp.example.com/tools');
    expect(inspect({}).settings.mcp.publicUrl).toBeNull();
    expect(faultsOf({ GATEWRIGHT_MCP_URL: 'mcp.example.com' })).toContain('GATEWRIGHT_MCP_URL');
  });
});

describe('the authorization servers of MCP clients', () => {
  const serversOf = (env: Record<string, string>) =>
    inspect({ ...keys, GATEWRIGHT_MCP_URL: 'https://mcp.example.com', ...env }).settings.mcp
      .authorizationServers;

  it('keeps the listed ones as they are written', () => {
    const listed = 'https://a.example.com, https://b.example.com/realms/main';
    expect(serversOf({ GATEWRIGHT_MCP_AUTHORIZATION_SERVERS: listed })).toEqual([
      'https://a.example.com',
      'https://b.example.com/realms/main',
    ]);
  });

  it('uses the issuer of tokens by default, if it is an address', () => {
    const issuer = 'https://login.example.com';
    expect(serversOf({ GATEWRIGHT_JWT_ISSUER: issuer })).toEqual([issuer]);
    expect(serversOf({ GATEWRIGHT_JWT_ISSUER: 'login' })).toEqual([]);
    expect(serversOf({})).toEqual([]);
  });

  it('rejects them without the settings that they need', () => {
    const name = 'GATEWRIGHT_MCP_AUTHORIZATION_SERVERS';
    const faults = faultsOf({ [name]: 'https://login.example.com' });
    expect(faults).toContain(`${name} is set, but has no effect without GATEWRIGHT_MCP_URL`);
    expect(faults).toContain('has no effect without GATEWRIGHT_JWT_JWKS_URIS');
    expect(faultsOf({ [name]: 'login.example.com' })).toContain(name);
  });
});
