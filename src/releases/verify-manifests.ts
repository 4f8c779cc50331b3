/** Verifies images and charts of a layout or a registry, with their attached statements. */
import type { ManifestSource } from './manifest-source.ts';
import type { OciDescriptor } from './oci-documents.ts';
import { parseManifest } from './oci-layout.ts';
import { ReleaseFault } from './release-fault.ts';
import { mediaTypes, predicateTypes } from './release-names.ts';
import type { SignerTrust } from './signer-trust.ts';
import {
  type BuildFacts,
  type DemandedBuild,
  predicateTypeOf,
  requireBuild,
  requirePredicate,
  requireSbom,
} from './statement-checks.ts';

export interface Expectations {
  readonly trust: SignerTrust;
  readonly demanded: DemandedBuild;
}

/** An artefact that was verified, with the facts of its build. */
export interface VerifiedArtefact {
  readonly name: string;
  /** Hexadecimal. */
  readonly sha256: string;
  readonly build: BuildFacts;
  readonly components: number;
}

const bundlesMax = 100;
const depthMax = 3;

/**
 * Verifies everything that a source lists, down to the layers.
 *
 * @throws ReleaseFault with the first reason
 */
export async function verifyManifests(
  name: string,
  source: ManifestSource,
  expectations: Expectations,
): Promise<VerifiedArtefact[]> {
  const roots = await source.roots();
  if (roots.length === 0) throw new ReleaseFault('it lists no image and no chart');
  const verified: VerifiedArtefact[] = [];
  for (const { descriptor, tag } of roots) {
    const title = tag === null ? `${name}@${descriptor.digest}` : `${name}:${tag}`;
    verified.push(...(await verifyTree(title, descriptor, { source, expectations, depth: 0 })));
  }
  return verified;
}

interface TreeContext {
  readonly source: ManifestSource;
  readonly expectations: Expectations;
  readonly depth: number;
}

async function verifyTree(
  name: string,
  descriptor: OciDescriptor,
  context: TreeContext,
): Promise<VerifiedArtefact[]> {
  const { source, depth } = context;
  if (depth > depthMax) throw new ReleaseFault('its indexes are nested too deeply');
  const { mediaType, digest } = descriptor;
  if (mediaType !== mediaTypes.index && mediaType !== mediaTypes.manifest) {
    throw new ReleaseFault(`${digest} is listed with the media type ${mediaType}`);
  }
  const bytes = await source.read(descriptor);
  const { config, layers = [], manifests = [] } = parseManifest(bytes, digest);
  for (const blob of config === undefined ? layers : [config, ...layers]) {
    await source.verifyBlob(blob);
  }
  const verified = [await verifyAttached(name, digest, context)];
  for (const child of manifests) {
    const { os, architecture } = child.platform ?? { os: 'any', architecture: 'any' };
    const title = `${name} (${os}/${architecture})`;
    verified.push(...(await verifyTree(title, child, { ...context, depth: depth + 1 })));
  }
  return verified;
}

/** Each predicate must be in one valid bundle. Others are ignored: anybody may attach more to a registry. */
async function verifyAttached(
  name: string,
  digest: string,
  { source, expectations }: TreeContext,
): Promise<VerifiedArtefact> {
  const sha256 = digest.replace('sha256:', '');
  const found = new Map<string, unknown>();
  const faults: string[] = [];
  const referrers = await source.referrers(digest);
  for (const referrer of referrers.slice(0, bundlesMax)) {
    try {
      const bundle = await readBundle(source, referrer);
      if (bundle === null) continue;
      const statement = expectations.trust.verifyStatement(bundle);
      const type = predicateTypeOf(statement);
      const known = Object.entries(predicateTypes).find(([, uri]) => uri === type);
      if (known === undefined) continue;
      const key = known[0] as keyof typeof predicateTypes;
      found.set(key, requirePredicate(statement, key, sha256));
    } catch (error) {
      if (!(error instanceof ReleaseFault)) throw error;
      faults.push(error.message);
    }
  }
  for (const key of Object.keys(predicateTypes)) {
    if (found.has(key)) continue;
    const reason = faults.length === 0 ? 'nothing of this kind is attached' : faults.join('; ');
    throw new ReleaseFault(`${digest} has no valid ${key}: ${reason}`);
  }
  const build = requireBuild(found.get('provenance'), expectations.demanded);
  return { name, sha256, build, components: requireSbom(found.get('sbom')) };
}

/** Null when the referrer is something other than a Sigstore bundle. */
async function readBundle(source: ManifestSource, referrer: OciDescriptor): Promise<string | null> {
  const { layers = [] } = parseManifest(await source.read(referrer), referrer.digest);
  const [layer] = layers;
  if (layer?.mediaType !== mediaTypes.bundle) return null;
  return (await source.read(layer)).toString();
}
