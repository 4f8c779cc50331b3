/** Packs the Helm chart as an archive and as an OCI artefact. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parse } from 'yaml';
import type { OciDescriptor } from '../../src/releases/oci-documents.ts';
import { mediaTypes } from '../../src/releases/release-names.ts';
import { type FileTree, file, tarOf } from './file-tree.ts';
import type { OciLayoutWriter } from './oci-layout-writer.ts';
import type { ReleaseSource } from './source.ts';

/** The archive that `helm install` takes. */
export async function buildChart({ folder, committedAt }: ReleaseSource): Promise<Buffer> {
  const chart = join(folder, 'charts/gatewright');
  const tree: FileTree = new Map();
  for (const entry of readdirSync(chart, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    tree.set(`gatewright${path.slice(chart.length)}`, file(readFileSync(path)));
  }
  return gzipSync(await tarOf(tree, committedAt), { level: 9 });
}

/** Adds the archive as Helm pushes it, listed under the version of the chart. */
export function addChart(
  layout: OciLayoutWriter,
  archive: Buffer,
  { folder, committedAt }: ReleaseSource,
): OciDescriptor {
  const metadata = parse(readFileSync(join(folder, 'charts/gatewright/Chart.yaml'), 'utf8'));
  const { name, version, description } = metadata as Record<string, string>;
  const manifest = layout.addManifest({
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: layout.addBlob(Buffer.from(JSON.stringify(metadata)), mediaTypes.chartConfig),
    layers: [layout.addBlob(archive, mediaTypes.chartContent)],
    annotations: {
      'org.opencontainers.image.title': name!,
      'org.opencontainers.image.description': description!,
      'org.opencontainers.image.version': version!,
      'org.opencontainers.image.created': committedAt.toISOString(),
    },
  });
  layout.list(manifest, version!);
  return manifest;
}
