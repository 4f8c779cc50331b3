/** Defines where manifests and their attachments are read from: a layout or a registry. */
import type { OciDescriptor } from './oci-documents.ts';

export interface ManifestSource {
  /** The manifests to verify, with their tags; attachments are not among them. */
  readonly roots: () => Promise<readonly ListedManifest[]>;
  /**
   * The bytes of a manifest, an index or a small blob, whose digest the source has verified.
   * @throws ReleaseFault when it is missing or has another digest
   */
  readonly read: (descriptor: OciDescriptor) => Promise<Buffer>;
  /** Verifies a blob without reading it whole. @throws ReleaseFault as `read` does */
  readonly verifyBlob: (descriptor: OciDescriptor) => Promise<void>;
  /** Descriptors of the manifests that name this digest as their subject. */
  readonly referrers: (digest: string) => Promise<readonly OciDescriptor[]>;
}

export interface ListedManifest {
  readonly descriptor: OciDescriptor;
  readonly tag: string | null;
}
