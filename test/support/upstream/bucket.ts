/**
 * Starts a bucket on a real S3-compatible server, behind a relay that records requests and
 * simulates failures.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from '@20minutes/s3rver';
import type { S3Location } from '../../../src/blobs/s3-client.ts';
import type { S3Key } from '../../../src/blobs/s3-credentials.ts';
import { Secret } from '../../../src/secret.ts';

export interface Bucket extends AsyncDisposable {
  readonly place: S3Location;
  /** The only access key that it accepts. */
  readonly key: { readonly kind: 'key' } & S3Key;
  /** `METHOD /path` of each request. */
  readonly requests: string[];
  /** Returns a status or an error code (403) to answer in place of the server, or null. */
  interfere: (request: string, headers: IncomingHttpHeaders) => number | string | null;
  /** Names of the stored objects. */
  objects(): string[];
}

/** Starts the server, which checks signatures against the time and its one key. */
export async function startBucket(): Promise<Bucket> {
  const directory = mkdtempSync(join(tmpdir(), 'gatewright-bucket-'));
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: 'files' }],
  });
  const { port } = await server.run();
  const bucket = {
    requests: [] as string[],
    interfere: (_: string, __: IncomingHttpHeaders): number | string | null => null,
  };
  const relay = createServer((from, to) => {
    const request = `${from.method} ${from.url}`;
    bucket.requests.push(request);
    const refused = bucket.interfere(request, from.headers);
    if (refused === null) return pass(port, from, to);
    const [status, code] = typeof refused === 'string' ? [403, refused] : [refused, 'Busy'];
    from.resume().on('end', () => to.writeHead(status).end(`<Error><Code>${code}</Code></Error>`));
  });
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  const key = {
    kind: 'key' as const,
    accessKeyId: 'S3RVER',
    sessionToken: null,
    secretAccessKey: new Secret('S3RVER', 'test'),
  };
  const { port: relayed } = relay.address() as AddressInfo;
  return Object.assign(bucket, {
    key,
    place: {
      endpoint: new URL(`http://127.0.0.1:${relayed}`),
      region: 'us-east-1',
      bucket: 'files',
      prefix: 'kept/',
      credentials: key,
    },
    objects: () =>
      readdirSync(join(directory, 'files'), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('_object'))
        .map((name) => name.slice(0, -'._S3rver_object'.length))
        .toSorted(),
    [Symbol.asyncDispose]: async () => {
      relay.closeAllConnections();
      relay.close();
      await server.close();
      rmSync(directory, { recursive: true });
    },
  });
}

/** Forwards the headers unchanged, because they are signed. */
function pass(port: number, from: IncomingMessage, to: ServerResponse): void {
  const { method, url, headers } = from;
  const onward = request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
    to.writeHead(answer.statusCode!, answer.headers);
    answer.pipe(to);
  });
  onward.on('error', () => to.destroy());
  from.pipe(onward);
}
