/** Verifies single files of a release, with the signature, provenance and SBOM beside them. */
import { isDeepStrictEqual } from 'node:util';
import { ReleaseFault } from './release-fault.ts';
import { parseReleaseJson, readReleaseFile, requireFile, sha256OfFile } from './release-files.ts';
import { artefactSuffixes } from './release-names.ts';
import { requireBuild, requirePredicate, requireSbom } from './statement-checks.ts';
import type { Expectations, VerifiedArtefact } from './verify-manifests.ts';

/** @throws ReleaseFault with the first reason */
export async function verifyFile(
  folder: string,
  name: string,
  { trust, demanded }: Expectations,
): Promise<VerifiedArtefact> {
  const sidecar = (suffix: string): string => readReleaseFile(folder, name + suffix).toString();
  const sha256 = await sha256OfFile(requireFile(folder, name));
  trust.verifyBytes(sidecar(artefactSuffixes.signature), readReleaseFile(folder, name));
  const provenance = trust.verifyStatement(sidecar(artefactSuffixes.provenance));
  const build = requireBuild(requirePredicate(provenance, 'provenance', sha256), demanded);
  const statement = trust.verifyStatement(sidecar(artefactSuffixes.sbomStatement));
  const signed = requirePredicate(statement, 'sbom', sha256);
  const sbom = name + artefactSuffixes.sbom;
  if (!isDeepStrictEqual(parseReleaseJson(readReleaseFile(folder, sbom), sbom), signed)) {
    throw new ReleaseFault(`${sbom} differs from the signed SBOM`);
  }
  return { name, sha256, build, components: requireSbom(signed) };
}
