/**
 * Checks that a pod without a key of its own signs bucket requests with temporary credentials, and
 * renews them when they expire.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { S3 } from '../../../src/blobs/s3.ts';
import type { S3CredentialsSource } from '../../../src/blobs/s3-credentials.ts';
import { Secret } from '../../../src/secret.ts';
import { type Bucket, startBucket } from '../../support/upstream/bucket.ts';

const minuteMs = 60_000;
const key = { organisationId: 'b6e7a3f0-0000-4000-8000-000000000001', id: 'file_gw1' };
const content = Buffer.from('kept');

let bucket: Bucket;
/**
 * Issues credentials for an hour: as STS does for a form, and as an agent next to a pod does in
 * JSON.
 */
let giver: Server;
let giverUrl: string;
let folder: string;
let tokenFile: string;
let now: number;
let given: number;
/** The token or form of each request to the issuer. */
let displayed: unknown[];
/** The error code to return instead of credentials. */
let refusal: string | null;
/** The number of the issued credentials that the bucket accepts; null for the latest. */
let taken: number | null;

beforeAll(async () => {
  bucket = await startBucket();
  // The server behind this hook verifies the signature; the hook verifies the token.
  bucket.interfere = (_, headers) => {
    return headers['x-amz-security-token'] === `session-${taken ?? given}` ? null : 'ExpiredToken';
  };
  giver = createServer((request, response) => void give(request, response));
  await new Promise<void>((resolve) => giver.listen(0, '127.0.0.1', resolve));
  giverUrl = `http://127.0.0.1:${(giver.address() as AddressInfo).port}`;
  folder = mkdtempSync(join(tmpdir(), 'gatewright-pod-'));
  tokenFile = join(folder, 'token');
});

beforeEach(() => {
  now = Date.UTC(2027, 0, 4);
  given = 0;
  displayed = [];
  refusal = null;
  taken = null;
  writeFileSync(tokenFile, 'token of the pod\n');
});

afterAll(async () => {
  giver.closeAllConnections();
  giver.close();
  await bucket[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

async function give(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = Buffer.concat(await Array.fromAsync(request)).toString();
  if (refusal !== null) {
    response.writeHead(403).end(`<Error><Code>${refusal}</Code></Error>`);
    return;
  }
  given += 1;
  const [token, end] = [`session-${given}`, new Date(now + 60 * minuteMs).toISOString()];
  if (request.method === 'GET') {
    displayed.push([request.url, request.headers.authorization]);
    const reported = {
      AccessKeyId: 'S3RVER',
      SecretAccessKey: 'S3RVER',
      Token: token,
      Expiration: end,
    };
    response.end(JSON.stringify(reported));
    return;
  }
  displayed.push(Object.fromEntries(new URLSearchParams(body)));
  response.end(
    `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
      <AccessKeyId>S3RVER</AccessKeyId><SecretAccessKey>S3RVER</SecretAccessKey>
      <SessionToken>${token}</SessionToken><Expiration>${end}</Expiration>
    </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
  );
}

const requested: Record<string, unknown> = {
  'a role by a token of the pod': {
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: 'arn:aws:iam::1:role/files',
    RoleSessionName: 'gatewright',
    WebIdentityToken: 'token of the pod',
  },
  'an agent beside the pod': ['/v1/it?a=b', 'token of the pod'],
};

const sources: Record<string, () => S3CredentialsSource> = {
  'a role by a token of the pod': () => ({
    kind: 'webIdentity',
    sts: new URL(giverUrl),
    roleArn: 'arn:aws:iam::1:role/files',
    tokenFile,
  }),
  'an agent beside the pod': () => ({
    kind: 'container',
    address: new URL('/v1/it?a=b', giverUrl),
    tokenFile,
  }),
};

const openAs = (source: S3CredentialsSource) =>
  new S3({ ...bucket.place, credentials: source }, null, () => now);

async function* pieces(): AsyncGenerator<Buffer> {
  yield content;
}

/** Writes, reads and deletes an object. */
async function works(store: S3): Promise<void> {
  await store.write(key, pieces());
  expect(Buffer.concat(await Array.fromAsync(store.read(key, content.length)))).toEqual(content);
  await store.delete(key);
  expect(bucket.objects()).toEqual([]);
}

it.each(Object.keys(sources))(
  '%s is called once for all concurrent requests, and again before expiry',
  async (name) => {
    await using store = openAs(sources[name]!());
    await Promise.all(['a', 'b', 'c'].map((id) => store.write({ ...key, id }, pieces())));
    for (const id of ['a', 'b', 'c']) await store.delete({ ...key, id });
    expect(given).toBe(1);
    now += 54 * minuteMs;
    await works(store);
    expect(given).toBe(1);
    now += 2 * minuteMs;
    await works(store);
    expect(displayed).toEqual([requested[name], requested[name]]);
  },
);

it('reuses credentials while they are valid, and reports a refusal without a secret', async () => {
  await using store = openAs(sources['a role by a token of the pod']!());
  await works(store);
  refusal = 'AccessDenied';
  now += 57 * minuteMs;
  await works(store);
  now += 4 * minuteMs;
  const failed = await store.write(key, pieces()).catch((error: Error) => error);
  expect(String(failed)).toBe(
    `BlobUnavailable: The bucket has no credentials: ${giverUrl} returns no credentials (403, AccessDenied)`,
  );
  refusal = null;
  await works(store);
});

it('replaces credentials that the bucket reports as expired, whatever the clock says', async () => {
  await using store = openAs(sources['an agent beside the pod']!());
  await works(store);
  taken = 2;
  await works(store);
  expect(given).toBe(2);
});

it('names the setting of a token file that is missing', async () => {
  rmSync(tokenFile);
  for (const [name, source] of Object.entries(sources)) {
    await using store = openAs(source());
    const setting = name.startsWith('a role')
      ? 'AWS_WEB_IDENTITY_TOKEN_FILE'
      : 'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE';
    await expect(store.delete(key)).rejects.toThrow(`${setting}: the file cannot be read (ENOENT)`);
  }
});

it('accepts a static key that expires, too', async () => {
  taken = 7;
  await using store = openAs({ ...bucket.key, sessionToken: new Secret('session-7', 'test') });
  await works(store);
});
