/** Writes OCI image layouts: blobs by their hash, and an index of the manifests with their tags. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OciDescriptor, OciManifest } from '../../src/releases/oci-documents.ts';
import { mediaTypes, tagAnnotation } from '../../src/releases/release-names.ts';
import { sha256Of } from './debian/package-lock.ts';

export class OciLayoutWriter {
  readonly #folder: string;
  readonly #listed: OciDescriptor[] = [];

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(join(folder, 'blobs/sha256'), { recursive: true });
  }

  addBlob(bytes: Buffer, mediaType: string): OciDescriptor {
    const hash = sha256Of(bytes);
    writeFileSync(join(this.#folder, 'blobs/sha256', hash), bytes);
    return { mediaType, digest: `sha256:${hash}`, size: bytes.length };
  }

  /** Adds a manifest or an index without listing it. */
  addManifest(manifest: OciManifest): OciDescriptor {
    return this.addBlob(Buffer.from(JSON.stringify(manifest)), manifest.mediaType!);
  }

  /** Lists a manifest in `index.json`, under a tag unless it is null. */
  list(descriptor: OciDescriptor, tag: string | null): void {
    const annotations = { ...descriptor.annotations, ...(tag && { [tagAnnotation]: tag }) };
    const isPlain = Object.keys(annotations).length === 0;
    this.#listed.push(isPlain ? descriptor : { ...descriptor, annotations });
  }

  /**
   * Adds an artefact that refers to `subject`, and lists it. `empty` is its config, because an
   * artefact has none.
   */
  addReferrer(
    subject: OciDescriptor,
    content: Buffer,
    mediaType: string,
    annotations: Readonly<Record<string, string>>,
  ): void {
    const { digest, size, mediaType: subjectType } = subject;
    const manifest: OciManifest = {
      schemaVersion: 2,
      mediaType: mediaTypes.manifest,
      artifactType: mediaType,
      config: this.addBlob(Buffer.from('{}'), mediaTypes.empty),
      layers: [this.addBlob(content, mediaType)],
      subject: { mediaType: subjectType, digest, size },
      annotations,
    };
    this.list({ ...this.addManifest(manifest), artifactType: mediaType, annotations }, null);
  }

  /** Writes `index.json`; nothing can be listed afterwards. */
  close(): void {
    const index: OciManifest = {
      schemaVersion: 2,
      mediaType: mediaTypes.index,
      manifests: this.#listed,
    };
    writeFileSync(join(this.#folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
    writeFileSync(join(this.#folder, 'index.json'), JSON.stringify(index));
  }
}
