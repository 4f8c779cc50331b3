/** Tests which header names and values may leave the gateway. */
import { describe, expect, it } from 'vitest';
import {
  headerListFaults,
  headerMapFaults,
  headerNameFault,
} from '../../../../src/model/services/forward-headers.ts';

describe('a forwarded header', () => {
  it.each([
    'authorization',
    'Authorization',
    'X_API_KEY',
    'x-my-secret',
    'Set-Cookie',
    'x-aws-ec2-metadata-token-ttl-seconds',
    'Metadata-Flavor',
    'x-ms-identity-thing',
    'X-Forwarded-For',
    'host',
    'Connection',
    'transfer_encoding',
    'TE',
    'X-HTTP-Method-Override',
    'X-HTTP-Method',
    'x-method-override',
    'x-gateway-api-key',
    'gatewright-owner',
  ])('is rejected when it is %s, in any case and with _ for -', (name) => {
    expect(headerNameFault(name, 'forwarded')).toMatch(/^is a restricted header/);
  });

  it.each(['traceparent', 'baggage', 'X-Request-Id', 'x-session-id', 'x-gateway-trace-id'])(
    'is accepted when it is %s',
    (name) => expect(headerNameFault(name, 'forwarded')).toBeNull(),
  );

  it.each(['', 'a b', 'a:b', 'é', 'a\r\nb', 'x*(', 'x'.repeat(65)])(
    'is rejected when its name is malformed (%j)',
    (name) => expect(headerNameFault(name, 'forwarded')).not.toBeNull(),
  );

  it('carries credentials only to a model provider or where an administrator sets it', () => {
    expect(headerNameFault('authorization', 'provider')).toBeNull();
    expect(headerNameFault('authorization', 'set')).toBeNull();
    expect(headerNameFault('x-gateway-key', 'provider')).not.toBeNull();
    expect(headerNameFault('host', 'set')).not.toBeNull();
  });

  it.each([
    'host',
    'X-Forwarded-Host',
    'x_original_url',
    'X-Rewrite-URL',
    'X-HTTP-Method-Override',
  ])('redirects no request to another provider: %s is rejected', (name) =>
    expect(headerNameFault(name, 'provider')).toMatch(/^is a restricted header/),
  );
});

describe('lists and maps of headers', () => {
  it('holds at most 32 names, each once, ignoring case', () => {
    const many = Array.from({ length: 33 }, (_, at) => `x-${at}`);
    expect(headerListFaults(many, 'forwarded')).toHaveLength(1);
    expect(headerListFaults(many.slice(1), 'forwarded')).toEqual([]);
    expect(headerListFaults(['x-a', 'X-A'], 'forwarded')).toEqual([
      { path: [1], message: 'is a duplicate' },
    ]);
  });

  it('rejects values that would start another header, without showing them', () => {
    const canary = 'canary-51b2';
    for (const value of [`${canary}\r\nx: y`, `${canary}\n`, `${canary}\0`, `${canary}→`]) {
      const faults = headerMapFaults({ 'x-a': value }, 'set');
      expect(faults).toMatchObject([{ path: ['x-a'] }]);
      expect(JSON.stringify(faults)).not.toContain(canary);
    }
    expect(headerMapFaults({ 'x-a': 'Bearer \t ÿ~' }, 'set')).toEqual([]);
  });
});
