/** Reads manifests, blobs and referrers from a registry. */
import { createHash } from 'node:crypto';
import { Failure } from '../failure.ts';
import type { ImageReference } from './image-reference.ts';
import type { ManifestSource } from './manifest-source.ts';
import type { OciDescriptor } from './oci-documents.ts';
import { parseManifest, requireDigest } from './oci-layout.ts';
import type { RegistryClient } from './registry-client.ts';
import { ReleaseFault } from './release-fault.ts';
import { mediaTypes } from './release-names.ts';

const manifestTypes = `${mediaTypes.index}, ${mediaTypes.manifest}`;

/** Verifies a reference in a registry. Layers are left to the engine, which verifies what it pulls. */
export function registrySource(client: RegistryClient, reference: ImageReference): ManifestSource {
  return {
    roots: async () => {
      const name = reference.digest ?? reference.tag ?? 'latest';
      const found = await fetchManifest(client, name);
      if (found === null) throw new ReleaseFault(`the registry has no ${name}`);
      if (reference.digest !== null && found.descriptor.digest !== reference.digest) {
        throw new ReleaseFault(`the registry sent ${found.descriptor.digest} instead`);
      }
      return [{ descriptor: found.descriptor, tag: reference.tag }];
    },
    read: async (descriptor) => {
      if (!isManifest(descriptor)) return await fetchBlob(client, descriptor);
      const found = await fetchManifest(client, descriptor.digest);
      if (found === null) throw new ReleaseFault(`the manifest ${descriptor.digest} is missing`);
      requireDigest(descriptor, found.bytes);
      return found.bytes;
    },
    verifyBlob: async () => {},
    referrers: async (digest) => await listReferrers(client, digest),
  };
}

function isManifest({ mediaType }: OciDescriptor): boolean {
  return mediaType === mediaTypes.index || mediaType === mediaTypes.manifest;
}

/** The descriptor and bytes of a tag or digest; null when there is none. */
export async function fetchManifest(
  client: RegistryClient,
  reference: string,
): Promise<{ descriptor: OciDescriptor; bytes: Buffer } | null> {
  const path = `manifests/${reference}`;
  const { status, headers, bytes } = await client.send({
    method: 'GET',
    path,
    headers: { accept: manifestTypes },
  });
  if (status === 404) return null;
  if (status !== 200) throw unexpectedStatus(client, path, status);
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  const mediaType = String(headers['content-type']);
  return { descriptor: { mediaType, digest, size: bytes.length }, bytes };
}

/** @throws ReleaseFault when the registry has no such blob or other bytes */
async function fetchBlob(client: RegistryClient, descriptor: OciDescriptor): Promise<Buffer> {
  const path = `blobs/${descriptor.digest}`;
  const { status, bytes } = await client.send({ method: 'GET', path });
  if (status === 404) throw new ReleaseFault(`the blob ${descriptor.digest} is missing`);
  if (status !== 200) throw unexpectedStatus(client, path, status);
  requireDigest(descriptor, bytes);
  return bytes;
}

/** From the API of referrers, or from the tag that stands in for it. */
async function listReferrers(
  client: RegistryClient,
  digest: string,
): Promise<readonly OciDescriptor[]> {
  const { status, bytes } = await client.send({ method: 'GET', path: `referrers/${digest}` });
  if (status === 200) return parseManifest(bytes, 'the list of referrers').manifests ?? [];
  const tagged = await fetchManifest(client, digest.replace(':', '-'));
  return tagged === null ? [] : (parseManifest(tagged.bytes, 'the tag').manifests ?? []);
}

function unexpectedStatus({ host }: RegistryClient, path: string, status: number): Failure {
  return new Failure('unreachable', `${host} answered ${status} for ${path}`);
}
