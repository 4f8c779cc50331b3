/** Names the files, media types and predicates of a release. */

/** Appended to the name of an artefact. */
export const artefactSuffixes = {
  /** Signature of the bytes, as a Sigstore bundle. */
  signature: '.sigstore.json',
  /** SLSA provenance in a DSSE envelope, as a Sigstore bundle. */
  provenance: '.provenance.sigstore.json',
  /** The SBOM as a predicate in a DSSE envelope, as a Sigstore bundle. */
  sbomStatement: '.sbom.sigstore.json',
  /** The SBOM alone, in CycloneDX. */
  sbom: '.cdx.json',
} as const;

export const checksumsFile = 'SHA256SUMS';
export const publicKeyFile = 'cosign.pub';

export interface ReleaseNames {
  readonly npmPackage: string;
  readonly chart: string;
  /** Folders that are OCI image layouts. */
  readonly imageLayout: string;
  readonly chartLayout: string;
}

export function releaseNames(version: string): ReleaseNames {
  return {
    npmPackage: `gatewright-${version}.tgz`,
    chart: `gatewright-chart-${version}.tgz`,
    imageLayout: `gatewright-image-${version}`,
    chartLayout: `gatewright-chart-${version}`,
  };
}

export const mediaTypes = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  imageConfig: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
  empty: 'application/vnd.oci.empty.v1+json',
  chartConfig: 'application/vnd.cncf.helm.config.v1+json',
  chartContent: 'application/vnd.cncf.helm.chart.content.v1.tar+gzip',
  bundle: 'application/vnd.dev.sigstore.bundle.v0.3+json',
  simpleSigning: 'application/vnd.dev.cosign.simplesigning.v1+json',
  statement: 'application/vnd.in-toto+json',
} as const;

export const predicateTypes = {
  signature: 'https://sigstore.dev/cosign/sign/v1',
  provenance: 'https://slsa.dev/provenance/v1',
  sbom: 'https://cyclonedx.org/bom',
} as const;

/** The form of `buildDefinition`, described in docs/guides/releases.md. */
export const buildType = 'https://gatewright.dev/release/v1';

/** Annotation of a descriptor in `index.json` with its tag. */
export const tagAnnotation = 'org.opencontainers.image.ref.name';
