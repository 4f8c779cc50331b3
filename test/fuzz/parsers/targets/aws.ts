/** Fuzzes signatures of version 4: they equal those of the reference implementation of AWS. */
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import { signedHeaders } from '../../../../src/aws/signature.ts';
import { Secret } from '../../../../src/secret.ts';
import { type ParserTarget, requireEqual } from '../parser-target.ts';

const now = Date.UTC(2027, 0, 4, 8);
const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };
const reference = new SignatureV4({
  service: 'bedrock',
  region: 'us-east-1',
  credentials,
  sha256: Sha256,
  applyChecksum: false,
});

/** Reads the lines of an input: path, query, a header's value, and the body. */
function requestOf(input: Buffer) {
  const [path = '', query = '', header = '', ...rest] = input.toString('utf8').split('\n');
  const url = new URL('https://bedrock-runtime.us-east-1.amazonaws.com/');
  url.pathname = path;
  url.search = query;
  return { url, header: header.replaceAll(/[^\t -~]/g, '').trim(), body: rest.join('\n') };
}

export const awsTarget: ParserTarget = {
  name: 'aws',
  sources: /\/src\/aws\/signature|\/aws4fetch\//,
  dictionary: [
    '/model/',
    '%3A',
    '%2F',
    ':0/invoke',
    '..',
    '//',
    '\n',
    '&',
    '=',
    'a=b',
    '+',
    '%20',
    '~',
    '*',
    "'",
    '(',
    '  ',
    '\u00e9',
    '%E9',
    ';',
  ],
  check: async (input) => {
    const { url, header, body } = requestOf(input);
    // A name that occurs twice, and a name without value, are never sent.
    const names = [...url.searchParams.keys()];
    if (new Set(names).size < names.length || names.some((name) => name === '')) return;
    const found = await signedHeaders(
      { ...credentials, secretAccessKey: new Secret('secret', 'fuzz'), sessionToken: null, expiresAt: null },
      { service: 'bedrock', region: 'us-east-1', now },
      {
        method: 'POST',
        url: url.href,
        headers: { 'content-type': 'application/json', 'x-amzn-note': header },
        body,
      },
    );
    const signed = await reference.sign(
      {
        method: 'POST',
        protocol: 'https:',
        hostname: url.hostname,
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        headers: { host: url.host, 'x-amzn-note': header },
        body,
      },
      { signingDate: new Date(now) },
    );
    requireEqual(
      'the signature',
      signatureOf(found.authorization),
      signatureOf(signed.headers.authorization),
    );
  },
};

/** The signed headers and the signature. */
function signatureOf(authorization = ''): string {
  return authorization.replace(/^.*SignedHeaders=/, '').replaceAll(' ', '');
}
