/** Signs artefacts as Sigstore bundles: with a key, or keyless with the identity of a CI job. */
import { createHash, createPublicKey, sign } from 'node:crypto';
import { bundleToJSON } from '@sigstore/bundle';
import {
  CIContextProvider,
  DSSEBundleBuilder,
  FulcioSigner,
  MessageSignatureBundleBuilder,
  RekorWitness,
  type Signer,
  type Witness,
} from '@sigstore/sign';
import { mediaTypes } from '../../src/releases/release-names.ts';
import { readSigningKey } from './signing-key.ts';

export interface ReleaseSigner {
  /** PEM; null for keyless signatures, whose certificates are in the bundles. */
  readonly publicKey: string | null;
  /** Returns the bundle of a signature of these bytes as text. */
  readonly signBytes: (bytes: Buffer) => Promise<string>;
  /** Returns the bundle of an in-toto statement in a signed DSSE envelope as text. */
  readonly signStatement: (statement: Buffer) => Promise<string>;
  /** The signature alone in base64, for programs without bundles; null for keyless signatures. */
  readonly rawSignature: ((bytes: Buffer) => string) | null;
}

const audience = 'sigstore';
const fulcio = 'https://fulcio.sigstore.dev';
const rekor = 'https://rekor.sigstore.dev';

/** @throws Error that names the fix when neither a key nor the identity of a CI job is available */
export function openSigner(keyPath: string | null): ReleaseSigner {
  if (keyPath !== null) return keySigner(keyPath);
  const { ACTIONS_ID_TOKEN_REQUEST_URL, SIGSTORE_ID_TOKEN } = process.env;
  if (!ACTIONS_ID_TOKEN_REQUEST_URL && !SIGSTORE_ID_TOKEN) {
    throw new Error(
      'nothing to sign with: pass --key FILE, or run in a CI job with an OIDC token (permissions: id-token: write, or SIGSTORE_ID_TOKEN)',
    );
  }
  const { GATEWRIGHT_RELEASE_FULCIO = fulcio, GATEWRIGHT_RELEASE_REKOR = rekor } = process.env;
  const identityProvider = new CIContextProvider(audience);
  const signer = new FulcioSigner({ fulcioBaseURL: GATEWRIGHT_RELEASE_FULCIO, identityProvider });
  const witness = new RekorWitness({ rekorBaseURL: GATEWRIGHT_RELEASE_REKOR });
  return { publicKey: null, rawSignature: null, ...bundlesOf(signer, [witness]) };
}

function keySigner(path: string): ReleaseSigner {
  const key = readSigningKey(path, process.env.COSIGN_PASSWORD ?? '');
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();
  const der = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const hint = createHash('sha256').update(der).digest('base64');
  const signer: Signer = {
    sign: async (bytes) => ({
      signature: sign('sha256', bytes, key),
      key: { $case: 'publicKey', publicKey, hint },
    }),
  };
  return {
    publicKey,
    rawSignature: (bytes) => sign('sha256', bytes, key).toString('base64'),
    ...bundlesOf(signer, []),
  };
}

function bundlesOf(
  signer: Signer,
  witnesses: Witness[],
): Pick<ReleaseSigner, 'signBytes' | 'signStatement'> {
  const messages = new MessageSignatureBundleBuilder({ signer, witnesses });
  const statements = new DSSEBundleBuilder({ signer, witnesses });
  return {
    signBytes: async (data) => JSON.stringify(bundleToJSON(await messages.create({ data }))),
    signStatement: async (data) => {
      const bundle = bundleToJSON(await statements.create({ data, type: mediaTypes.statement }));
      // cosign rejects an envelope whose key id is not its own name for the key.
      for (const signature of bundle.dsseEnvelope?.signatures ?? []) signature.keyid = '';
      return JSON.stringify(bundle);
    },
  };
}
