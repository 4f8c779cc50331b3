/** Verifies Sigstore bundles against one trusted signer: a public key, or an identity in a certificate. */
import { createPublicKey } from 'node:crypto';
import { type Bundle, bundleFromJSON } from '@sigstore/bundle';
import { TrustedRoot } from '@sigstore/protobuf-specs';
import {
  type Signer,
  type TrustMaterial,
  toSignedEntity,
  toTrustMaterial,
  Verifier,
} from '@sigstore/verify';
import { ReleaseFault } from './release-fault.ts';
import { mediaTypes } from './release-names.ts';

export interface SignerTrust {
  /** @throws ReleaseFault unless the bundle contains a signature of these bytes by the trusted signer */
  readonly verifyBytes: (bundle: string, bytes: Buffer) => void;
  /**
   * Returns the in-toto statement in the bundle.
   * @throws ReleaseFault unless the trusted signer has signed it
   */
  readonly verifyStatement: (bundle: string) => unknown;
}

/** The signer as a certificate of Fulcio states it. */
export interface SignerIdentity {
  /** Subject alternative name: the address of a workflow, or an e-mail address. */
  readonly name: string;
  /** Address of the OIDC issuer. */
  readonly issuer: string;
}

/**
 * `pem` is the public key. A trusted root is needed only for bundles that are also in a transparency
 * log.
 *
 * @throws Error when one of them cannot be parsed
 */
export function trustOfKey(pem: string, trustedRoot: string | null): SignerTrust {
  const key = createPublicKey(pem);
  const material = toTrustMaterial(parseTrustedRoot(trustedRoot), () => ({
    publicKey: key,
    validFor: () => true,
  }));
  const thresholds = { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 };
  // A certificate is no evidence of this key, whoever issued it.
  const withoutAuthorities = { ...material, certificateAuthorities: [] };
  return trustOf(withoutAuthorities, thresholds, null);
}

/** @throws Error when the trusted root cannot be parsed */
export function trustOfIdentity(
  { name, issuer }: SignerIdentity,
  trustedRoot: string,
): SignerTrust {
  const material = toTrustMaterial(parseTrustedRoot(trustedRoot));
  return trustOf(material, {}, { name, issuer });
}

function parseTrustedRoot(text: string | null): TrustedRoot {
  return TrustedRoot.fromJSON(text === null ? {} : JSON.parse(text));
}

function trustOf(
  material: TrustMaterial,
  thresholds: ConstructorParameters<typeof Verifier>[1],
  identity: SignerIdentity | null,
): SignerTrust {
  const verifier = new Verifier(material, thresholds);
  const verify = (bundle: Bundle, bytes?: Buffer): void => {
    try {
      const signer = verifier.verify(toSignedEntity(bundle, bytes));
      if (identity !== null) requireIdentity(signer, identity);
    } catch (error) {
      if (error instanceof ReleaseFault) throw error;
      throw new ReleaseFault(`the signature is not valid: ${(error as Error).message}`);
    }
  };
  return {
    verifyBytes: (text, bytes) => {
      const bundle = parseBundle(text);
      if (bundle.content.$case !== 'messageSignature') {
        throw new ReleaseFault('the bundle contains a statement instead of a signature');
      }
      verify(bundle, bytes);
    },
    verifyStatement: (text) => {
      const bundle = parseBundle(text);
      if (bundle.content.$case !== 'dsseEnvelope') {
        throw new ReleaseFault('the bundle contains no statement');
      }
      verify(bundle);
      const { payload, payloadType } = bundle.content.dsseEnvelope;
      if (payloadType !== mediaTypes.statement) {
        throw new ReleaseFault(`the envelope contains ${payloadType} instead of a statement`);
      }
      return JSON.parse(payload.toString());
    },
  };
}

/** Compares exactly; the policy of the library takes a pattern. */
function requireIdentity(signer: Signer, { name, issuer }: SignerIdentity): void {
  const { subjectAlternativeName: actual, extensions } = signer.identity ?? {};
  if (actual !== name || extensions?.issuer !== issuer) {
    throw new ReleaseFault(
      `it is signed by ${actual ?? 'nobody'} of ${extensions?.issuer ?? 'no issuer'}, not by ${name} of ${issuer}`,
    );
  }
}

function parseBundle(text: string): Bundle {
  try {
    return bundleFromJSON(JSON.parse(text));
  } catch (error) {
    throw new ReleaseFault(`the bundle cannot be parsed: ${(error as Error).message}`);
  }
}
