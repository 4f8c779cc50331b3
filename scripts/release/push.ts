/** Pushes an OCI layout to a registry: blobs, manifests, tags and referrers. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseImageReference } from '../../src/releases/image-reference.ts';
import type { OciDescriptor, OciManifest } from '../../src/releases/oci-documents.ts';
import { parseManifest } from '../../src/releases/oci-layout.ts';
import { RegistryClient } from '../../src/releases/registry-client.ts';
import { fetchManifest } from '../../src/releases/registry-source.ts';
import { mediaTypes, tagAnnotation } from '../../src/releases/release-names.ts';
import { pushBlob, pushManifest } from './registry-writer.ts';

/** `repository` is a reference without tag: `registry.example.com/team/gatewright`. */
export async function pushLayout(folder: string, repository: string): Promise<void> {
  const { GATEWRIGHT_RELEASE_USER: user, GATEWRIGHT_RELEASE_PASSWORD: password } = process.env;
  const credentials = user && password ? { user, password } : null;
  const reference = parseImageReference(repository);
  if (reference === null) throw new Error(`${repository} is no address such as HOST/team`);
  const access = { credentials, actions: 'pull,push', proxies: null } as const;
  await using client = new RegistryClient(reference, access);
  const read = ({ digest }: OciDescriptor): Buffer =>
    readFileSync(join(folder, 'blobs', digest.replace(':', '/')));
  const pushTree = async (descriptor: OciDescriptor, tag: string | null): Promise<void> => {
    const bytes = read(descriptor);
    const {
      config,
      layers = [],
      manifests = [],
      subject,
    } = parseManifest(bytes, descriptor.digest);
    for (const blob of config === undefined ? layers : [config, ...layers]) {
      await pushBlob(client, blob.digest, read(blob));
    }
    for (const manifest of manifests) await pushTree(manifest, null);
    const { mediaType } = descriptor;
    const hasReferrers = await pushManifest(client, tag ?? descriptor.digest, bytes, mediaType);
    if (subject !== undefined && !hasReferrers) await tagReferrer(client, subject, descriptor);
  };
  const index = parseManifest(readFileSync(join(folder, 'index.json')), 'index.json');
  for (const { annotations = {}, ...descriptor } of index.manifests ?? []) {
    const { [tagAnnotation]: tag = null, ...others } = annotations;
    const isReferrer = tag === null;
    await pushTree(isReferrer ? { ...descriptor, annotations: others } : descriptor, tag);
  }
}

/** Lists a referrer in the index by tag that the specification names for registries without the API. */
async function tagReferrer(
  client: RegistryClient,
  subject: OciDescriptor,
  referrer: OciDescriptor,
): Promise<void> {
  const tag = subject.digest.replace(':', '-');
  const present = await fetchManifest(client, tag);
  const listed = present === null ? [] : (parseManifest(present.bytes, tag).manifests ?? []);
  const others = listed.filter(({ digest }) => digest !== referrer.digest);
  const index: OciManifest = {
    schemaVersion: 2,
    mediaType: mediaTypes.index,
    manifests: [...others, referrer],
  };
  await pushManifest(client, tag, Buffer.from(JSON.stringify(index)), mediaTypes.index);
}
