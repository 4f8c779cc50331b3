/** Knows the manifests of a source as they come to be: with values, patches and defaults in them, and variables as written. */
import type { Environment } from '../overlay/substitute.ts';
import { isValuesFile } from '../overlay/values.ts';
import { byCodeUnits, type SourceFiles } from '../source/source-files.ts';
import { readDocuments } from '../yaml/yaml-document.ts';
import { readManifests } from './document-manifests.ts';
import { isForeignHeading } from './document-owner.ts';
import { EncryptedFiles } from './encrypted-files.ts';
import { readLayers } from './layer-documents.ts';
import type { Manifest } from './manifest.ts';

/**
 * Every manifest of a source without faults, by kind, workspace and name. Variables stand in their specs as
 * they are written, so that nothing of the process is in there, and what is encrypted stays closed.
 *
 * @param environment put into names and the rest of what is no spec
 */
export async function composedManifests(
  { files }: SourceFiles,
  environment: Environment,
): Promise<Manifest[]> {
  const encryptedFiles = new EncryptedFiles(files, undefined, false);
  const layers = await readLayers(files, { environment, areKept: true }, encryptedFiles);
  const manifests: [key: string, Manifest][] = [];
  for (const file of files.filter((one) => !isValuesFile(one))) {
    const { documents: written } = readDocuments(file, isForeignHeading);
    const { documents } = await encryptedFiles.unseal(file, written);
    for (const document of documents) {
      for (const manifest of readManifests(document, { ...layers, file }).manifests) {
        const { kind, workspace, name } = manifest;
        manifests.push([[kind, workspace ?? '', name].join('\u0000'), manifest]);
      }
    }
  }
  return manifests.sort(([one], [two]) => byCodeUnits(one, two)).map(([, manifest]) => manifest);
}
