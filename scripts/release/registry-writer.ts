/** Writes blobs and manifests to a registry of images. */
import type { RegistryClient } from '../../src/releases/registry-client.ts';

/** Uploads a blob in one request unless the registry has it. @throws Error with the status */
export async function pushBlob(
  client: RegistryClient,
  digest: string,
  bytes: Buffer,
): Promise<void> {
  const { status } = await client.send({ method: 'HEAD', path: `blobs/${digest}` });
  if (status === 200) return;
  const opened = await client.send({ method: 'POST', path: 'blobs/uploads/' });
  const { location } = opened.headers;
  if (opened.status !== 202 || typeof location !== 'string') {
    throw new Error(`the registry refuses an upload (${opened.status})`);
  }
  const separator = location.includes('?') ? '&' : '?';
  const uploaded = await client.send({
    method: 'PUT',
    path: `${location}${separator}digest=${encodeURIComponent(digest)}`,
    headers: { 'content-type': 'application/octet-stream' },
    body: bytes,
  });
  if (uploaded.status !== 201) {
    throw new Error(`the registry refuses the blob ${digest} (${uploaded.status})`);
  }
}

/** Returns whether the registry lists the manifest among the referrers of its subject. */
export async function pushManifest(
  client: RegistryClient,
  reference: string,
  bytes: Buffer,
  mediaType: string,
): Promise<boolean> {
  const { status, headers } = await client.send({
    method: 'PUT',
    path: `manifests/${reference}`,
    headers: { 'content-type': mediaType },
    body: bytes,
  });
  if (status !== 201) throw new Error(`the registry refuses ${reference} (${status})`);
  return headers['oci-subject'] !== undefined;
}
