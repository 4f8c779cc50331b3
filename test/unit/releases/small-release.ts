/** Writes a small release with real signatures into a temporary folder for tests. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { attachStatements } from '../../../scripts/release/attach.ts';
import { OciLayoutWriter } from '../../../scripts/release/oci-layout-writer.ts';
import { ReleaseFolderWriter } from '../../../scripts/release/release-folder-writer.ts';
import { openSigner, type ReleaseSigner } from '../../../scripts/release/release-signer.ts';
import type { Sbom } from '../../../scripts/release/sbom.ts';
import type { ReleaseSource } from '../../../scripts/release/source.ts';
import { mediaTypes, releaseNames } from '../../../src/releases/release-names.ts';

export interface SmallRelease {
  readonly folder: string;
  readonly publicKey: string;
  /** Path of the private key. */
  readonly keyPath: string;
}

export const smallVersion = '1.2.3';
export const smallCommit = 'c0ffee'.padEnd(40, '0');

/** Writes a new P-256 key as PEM and returns its path. */
export function writeKey(folder: string): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const path = join(folder, 'key.pem');
  writeFileSync(path, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  return path;
}

/** `content` distinguishes releases from each other. */
export async function writeSmallRelease(
  content = 'program',
  build: Partial<Pick<ReleaseSource, 'commit'>> = {},
  givenKey?: string,
): Promise<SmallRelease> {
  const work = mkdtempSync(join(tmpdir(), 'gatewright-small-release-'));
  const keyPath = givenKey ?? writeKey(work);
  const signer = openSigner(keyPath);
  writeFileSync(join(work, 'package-lock.json'), '{}');
  const source: ReleaseSource = {
    folder: work,
    version: smallVersion,
    commit: build.commit ?? smallCommit,
    committedAt: new Date(1_700_000_000_000),
    repository: 'git+https://example.com/gatewright',
  };
  const folder = join(work, 'release');
  const writer = new ReleaseFolderWriter(folder, signer, source);
  const names = releaseNames(smallVersion);
  writer.write('RELEASE-NOTES.md', content);
  for (const name of [names.npmPackage, names.chart]) {
    await writer.writeArtefact({ name, bytes: Buffer.from(`${name} ${content}`), bom });
  }
  for (const name of [names.chartLayout, names.imageLayout]) {
    await writeLayout(join(folder, name), content, signer, source);
  }
  await writer.close();
  return { folder, publicKey: signer.publicKey!, keyPath };
}

const component = { type: 'application', name: 'small', version: smallVersion, 'bom-ref': 'small' };
const bom: Sbom = {
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  metadata: { component },
  components: [{ type: 'library', name: 'part', version: '1.0.0', 'bom-ref': 'part' }],
  dependencies: [{ ref: 'small', dependsOn: ['part'] }],
};

async function writeLayout(
  folder: string,
  content: string,
  signer: ReleaseSigner,
  source: ReleaseSource,
): Promise<void> {
  const layout = new OciLayoutWriter(folder);
  const manifest = layout.addManifest({
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: layout.addBlob(Buffer.from('{}'), mediaTypes.imageConfig),
    layers: [layout.addBlob(Buffer.from(`layer ${content}`), mediaTypes.layer)],
  });
  const platform = { os: 'linux', architecture: 'amd64' };
  const index = layout.addManifest({
    schemaVersion: 2,
    mediaType: mediaTypes.index,
    manifests: [{ ...manifest, platform }],
  });
  layout.list(index, smallVersion);
  for (const subject of [manifest, index]) {
    await attachStatements({ layout, signer, source }, subject, bom);
  }
  layout.close();
}
