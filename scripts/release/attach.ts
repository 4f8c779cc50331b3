/** Attaches signatures, provenance and SBOMs to what an OCI layout contains. */
import type { OciDescriptor } from '../../src/releases/oci-documents.ts';
import { mediaTypes, predicateTypes } from '../../src/releases/release-names.ts';
import type { OciLayoutWriter } from './oci-layout-writer.ts';
import type { ReleaseSigner } from './release-signer.ts';
import type { Sbom } from './sbom.ts';
import type { ReleaseSource } from './source.ts';
import { provenanceOf, sbomStatement, statementOf } from './statements.ts';

export interface Attachments {
  readonly layout: OciLayoutWriter;
  readonly signer: ReleaseSigner;
  readonly source: ReleaseSource;
}

/**
 * Attaches a signature, provenance and the SBOM to one manifest or index, as referrers that are
 * Sigstore bundles. With a key also the signature by tag, which older versions of cosign read.
 */
export async function attachStatements(
  { layout, signer, source }: Attachments,
  subject: OciDescriptor,
  bom: Sbom,
): Promise<void> {
  const sha256 = subject.digest.replace('sha256:', '');
  const subjects = [{ name: 'gatewright', sha256 }];
  const statements = {
    signature: statementOf(subjects, 'signature', {}),
    provenance: statementOf(subjects, 'provenance', provenanceOf(source)),
    sbom: sbomStatement(subjects, bom),
  };
  for (const [name, statement] of Object.entries(statements)) {
    const bundle = await signer.signStatement(statement);
    layout.addReferrer(subject, Buffer.from(bundle), mediaTypes.bundle, {
      'dev.sigstore.bundle.content': 'dsse-envelope',
      'dev.sigstore.bundle.predicateType': predicateTypes[name as keyof typeof predicateTypes],
      'org.opencontainers.image.created': source.committedAt.toISOString(),
    });
  }
  if (signer.rawSignature !== null) addTaggedSignature(layout, subject, signer.rawSignature);
}

/** Adds a signature in the form of cosign before version 3. */
function addTaggedSignature(
  layout: OciLayoutWriter,
  subject: OciDescriptor,
  signed: (bytes: Buffer) => string,
): void {
  const payload = Buffer.from(
    JSON.stringify({
      critical: {
        identity: { 'docker-reference': '' },
        image: { 'docker-manifest-digest': subject.digest },
        type: 'cosign container image signature',
      },
      optional: null,
    }),
  );
  const layer = layout.addBlob(payload, mediaTypes.simpleSigning);
  const config = {
    architecture: '',
    os: '',
    config: {},
    rootfs: { type: 'layers', diff_ids: [layer.digest] },
  };
  const manifest = layout.addManifest({
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: layout.addBlob(Buffer.from(JSON.stringify(config)), mediaTypes.imageConfig),
    layers: [{ ...layer, annotations: { 'dev.cosignproject.cosign/signature': signed(payload) } }],
  });
  layout.list(manifest, `${subject.digest.replace(':', '-')}.sig`);
}
