/** Starts servers that act as Amazon Bedrock and STS: signatures are verified with Amazon's own implementation. */
import { Sha256 } from '@aws-crypto/sha256-js';
import type { ConverseStreamOutput } from '@aws-sdk/client-bedrock-runtime';
import { EventStreamCodec } from '@smithy/eventstream-codec';
import { HttpRequest } from '@smithy/protocol-http';
import { SignatureV4 } from '@smithy/signature-v4';
import { fromUtf8, toUtf8 } from '@smithy/util-utf8';
import type { TestUpstream } from './upstream.ts';

type ReachedRequest = TestUpstream['reached'][number];

export interface TestCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface VerifiedSignature {
  readonly accessKeyId: string;
  readonly service: string;
  readonly region: string;
  /** Milliseconds since the epoch. */
  readonly signedAt: number;
}

const header =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/\d{8}\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=[0-9a-f]{64}$/;

/** Returns what a valid signature covers; null for a request whose signature is wrong or missing. */
export async function verifySignature(
  { method, url, headers, body }: ReachedRequest,
  known: readonly TestCredentials[],
): Promise<VerifiedSignature | null> {
  const [, accessKeyId, region, service, names] = header.exec(headers.authorization ?? '') ?? [];
  const credentials = known.find((one) => one.accessKeyId === accessKeyId);
  if (credentials === undefined || names === undefined) return null;
  if (headers['x-amz-security-token'] !== credentials.sessionToken) return null;
  const [path = '', query = ''] = url.split('?');
  const signer = new SignatureV4({
    credentials,
    region: region!,
    service: service!,
    sha256: Sha256,
    applyChecksum: false,
  });
  const covered = names.split(';');
  const date = String(headers['x-amz-date']);
  const request = new HttpRequest({
    method,
    hostname: String(headers.host),
    path,
    query: Object.fromEntries(new URLSearchParams(query)),
    headers: Object.fromEntries(
      Object.entries(headers)
        .filter(([name]) => covered.includes(name) && name !== 'x-amz-security-token')
        .map(([name, value]) => [name, String(value)]),
    ),
    body,
  });
  const signedAt = Date.parse(
    date.replace(/^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/, '$1-$2-$3T$4:$5:$6Z'),
  );
  const expected = await signer.sign(request, { signingDate: new Date(signedAt) });
  if (expected.headers.authorization !== headers.authorization) return null;
  return { accessKeyId: accessKeyId!, service: service!, region: region!, signedAt };
}

const codec = new EventStreamCodec(toUtf8, fromUtf8);

/** Encodes an event of a stream, or an exception. */
export function frameOf(
  headers: Readonly<Record<string, string>>,
  payload: string | Buffer,
): Buffer {
  const text = { ':content-type': 'application/json', ...headers };
  return Buffer.from(
    codec.encode({
      headers: Object.fromEntries(
        Object.entries(text).map(([name, value]) => [name, { type: 'string', value }]),
      ),
      body: Buffer.from(payload),
    }),
  );
}

export function eventFrame(name: string, body: object): Buffer {
  return frameOf({ ':message-type': 'event', ':event-type': name }, JSON.stringify(body));
}

/** A chunk of InvokeModelWithResponseStream. */
export function chunkFrame(event: object): Buffer {
  const bytes = Buffer.from(JSON.stringify(event)).toString('base64');
  return eventFrame('chunk', { bytes, p: 'abcdef' });
}

/** Names of events and exceptions in streams of Converse. */
type StreamMember = Exclude<keyof ConverseStreamOutput.MessageStartMember, '$unknown'>;

export function exceptionFrame(name: StreamMember, message: string): Buffer {
  const headers = { ':message-type': 'exception', ':exception-type': name };
  return frameOf(headers, JSON.stringify({ message }));
}

/** The response of STS that contains credentials. */
export function stsResponse(
  { accessKeyId, secretAccessKey, sessionToken }: TestCredentials,
  expiresAt: number,
): string {
  const expiration = new Date(expiresAt).toISOString();
  return `<Response><Result><Credentials><AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${secretAccessKey}</SecretAccessKey><SessionToken>${sessionToken}</SessionToken><Expiration>${expiration}</Expiration></Credentials></Result></Response>`;
}
