/** Tests credentials.json: what is written can be read, and errors contain no secret. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  ClientCredentials,
  Credentials,
  createCredentialsFile,
  credentialsText,
  readCredentials,
} from '../../../src/commands/shared/credentials-file.ts';
import { Secret } from '../../../src/secret.ts';

const advice = { missing: 'make one', damaged: 'make another' };
const text = credentialsText('https://gw.example.com/', {
  tsgId: '1234567890',
  clientId: 'id',
  clientSecret: new Secret('canary-secret', 'test'),
  organisationApiKey: new Secret('canary-key', 'test'),
});
let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatewright-credentials-'));
  file = join(folder, 'credentials.json');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a credentials file', () => {
  it('returns what was written into it', async () => {
    await using made = await createCredentialsFile(file);
    await made.write(text);
    expect(readCredentials(file, Credentials, advice)).toEqual({
      baseUrl: 'https://gw.example.com/v1',
      adminBaseUrl: 'https://gw.example.com',
      authUrl: 'https://gw.example.com',
      iamUrl: 'https://gw.example.com',
      tsgId: '1234567890',
      clientId: 'id',
      clientSecret: 'canary-secret',
      organisationApiKey: 'canary-key',
    });
  });

  it('is never overwritten', async () => {
    writeFileSync(file, 'precious');
    await expect(createCredentialsFile(file)).rejects.toThrow(/it exists already/);
  });

  it('reads a client’s file without an API key of the organisation', () => {
    const { organisationApiKey: _, iamUrl: __, ...client } = JSON.parse(text);
    writeFileSync(file, JSON.stringify(client));
    expect(readCredentials(file, ClientCredentials, advice)).toEqual(client);
    expect(() => readCredentials(file, Credentials, advice)).toThrow(
      /is not a credentials file: iamUrl, organisationApiKey missing or wrong\.\nmake another/,
    );
  });

  it.each([
    ['', 'JSON'],
    ['{"canary', 'JSON'],
    ['["canary"]', 'JSON'],
    [text.replace('1234567890', 'canary'), 'tsgId'],
    [text.replace('https://gw.example.com/v1', 'canary'), 'baseUrl'],
  ])('rejects a damaged file and names only its fields: %j', (content, fields) => {
    writeFileSync(file, content);
    const read = () => readCredentials(file, Credentials, advice);
    expect(read).toThrow(`${file} is not a credentials file: ${fields} missing or wrong.`);
    expect(read).not.toThrow(/canary/);
  });

  it('reports a missing file together with the remedy', () => {
    expect(() => readCredentials(file, Credentials, advice)).toThrow(/does not exist\.\nmake one/);
  });
});
