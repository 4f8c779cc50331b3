/**
 * Returns the composed manifests of a source: with values, patches and defaults, and variables as
 * written.
 */

import { isValuesFile } from '../overlay/environment-values.ts';
import type { VariableLookup } from '../overlay/substitute.ts';
import { byCodeUnits, type SourceFiles } from '../source/source-files.ts';
import { readDocuments } from '../yaml/yaml-document.ts';
import { readManifests } from './document-manifests.ts';
import { isForeignHeading } from './document-owner.ts';
import { EncryptedFiles } from './encrypted-files.ts';
import { readLayers } from './layer-documents.ts';
import type { Manifest } from './manifest.ts';

/**
 * Returns every manifest of a valid source, by kind, workspace and name. Variables in specs stay as
 * written and encrypted values stay closed, so that nothing of the process environment is included.
 *
 * @param environment variables for names and other parts outside specs
 */
export async function composedManifests(
  { files }: SourceFiles,
  environment: VariableLookup,
): Promise<Manifest[]> {
  const encryptedFiles = new EncryptedFiles(files, undefined, false);
  const layers = await readLayers(files, { environment, leavesVariables: true }, encryptedFiles);
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
