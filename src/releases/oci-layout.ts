/** Reads an OCI image layout and verifies every digest. */
import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import type { ListedManifest, ManifestSource } from './manifest-source.ts';
import { type OciDescriptor, OciManifest } from './oci-documents.ts';
import { ReleaseFault } from './release-fault.ts';
import { parseReleaseJson, readReleaseFile, requireFile, sha256OfFile } from './release-files.ts';
import { tagAnnotation } from './release-names.ts';

/** Tags that cosign gives to what it attaches, mostly before version 3. */
const attachedTag = /^sha256-[0-9a-f]{64}(?:\.sig|\.att|\.sbom)?$/;

/** @throws ReleaseFault when the folder is no layout */
export function openLayout(folder: string): ManifestSource {
  const marker = parseReleaseJson(readReleaseFile(folder, 'oci-layout'), 'oci-layout');
  if ((marker as { imageLayoutVersion?: unknown } | null)?.imageLayoutVersion !== '1.0.0') {
    throw new ReleaseFault('oci-layout names another version than 1.0.0');
  }
  const listed = parseManifest(readReleaseFile(folder, 'index.json'), 'index.json').manifests ?? [];
  const pathOf = ({ digest }: OciDescriptor): string => `blobs/${digest.replace(':', '/')}`;
  const read = async (descriptor: OciDescriptor): Promise<Buffer> => {
    const bytes = readReleaseFile(folder, pathOf(descriptor));
    requireDigest(descriptor, bytes);
    return bytes;
  };
  const subjectOf = async (descriptor: OciDescriptor): Promise<string | undefined> =>
    parseManifest(await read(descriptor), descriptor.digest).subject?.digest;
  return {
    read,
    roots: async () => {
      const roots: ListedManifest[] = [];
      for (const descriptor of listed) {
        const tag = descriptor.annotations?.[tagAnnotation] ?? null;
        if (tag !== null && attachedTag.test(tag)) continue;
        if ((await subjectOf(descriptor)) === undefined) roots.push({ descriptor, tag });
      }
      return roots;
    },
    verifyBlob: async (descriptor) => {
      const path = pathOf(descriptor);
      const file = requireFile(folder, path);
      const { size } = lstatSync(file);
      if (size !== descriptor.size) {
        throw new ReleaseFault(`${path} has ${size} bytes, not ${descriptor.size}`);
      }
      const actual = `sha256:${await sha256OfFile(file)}`;
      if (actual !== descriptor.digest) throw new ReleaseFault(`${path} has the digest ${actual}`);
    },
    referrers: async (digest) => {
      const found: OciDescriptor[] = [];
      for (const one of listed) if ((await subjectOf(one)) === digest) found.push(one);
      return found;
    },
  };
}

/** @throws ReleaseFault when these are other bytes than described */
export function requireDigest({ digest, size }: OciDescriptor, bytes: Buffer): void {
  if (bytes.length !== size) {
    throw new ReleaseFault(`${digest} has ${bytes.length} bytes, not ${size}`);
  }
  const actual = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  if (actual !== digest) throw new ReleaseFault(`the blob ${digest} has the digest ${actual}`);
}

/** @throws ReleaseFault that names the document and the place in it */
export function parseManifest(bytes: Buffer, name: string): OciManifest {
  const result = OciManifest.safeParse(parseReleaseJson(bytes, name));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new ReleaseFault(`${name} is malformed at ${issue?.path.join('.')}: ${issue?.message}`);
}
