/** Builds the image for every architecture into an OCI layout, without a container engine. */
import { gzipSync } from 'node:zlib';
import type { OciDescriptor } from '../../src/releases/oci-documents.ts';
import { mediaTypes } from '../../src/releases/release-names.ts';
import {
  type Architecture,
  architectures,
  fetchPackage,
  readDebianLock,
  sha256Of,
} from './debian/package-lock.ts';
import { type UnpackedPackage, unpackPackage } from './debian/unpack-package.ts';
import { type FileTree, file, tarOf } from './file-tree.ts';
import { imageUser, selectFiles } from './image-programs.ts';
import { fetchNode } from './node-program.ts';
import type { OciLayoutWriter } from './oci-layout-writer.ts';
import type { ReleaseSource } from './source.ts';

export interface ImageInput {
  readonly source: ReleaseSource;
  /** Files of the npm package by their paths, which start with `package/`. */
  readonly program: ReadonlyMap<string, Buffer>;
  /** The SBOM of one architecture as text. */
  readonly sbomOf: (architecture: Architecture) => string;
  readonly cache: string;
}

export interface BuiltImages {
  readonly index: OciDescriptor;
  readonly images: ReadonlyMap<Architecture, OciDescriptor>;
}

/** Adds the images and their index to the layout, listed under the version. */
export async function addImages(
  layout: OciLayoutWriter,
  { source, program, sbomOf, cache }: ImageInput,
): Promise<BuiltImages> {
  const images = new Map<Architecture, OciDescriptor>();
  for (const architecture of architectures) {
    const trees = [
      await runtimeTree(architecture, cache),
      programTree(program, sbomOf(architecture)),
    ];
    images.set(architecture, await addImage(layout, { architecture, trees, source }));
  }
  const index = layout.addManifest({
    schemaVersion: 2,
    mediaType: mediaTypes.index,
    manifests: [...images.values()],
    annotations: labelsOf(source),
  });
  layout.list(index, source.version);
  return { index, images };
}

async function runtimeTree(architecture: Architecture, cache: string): Promise<FileTree> {
  const lock = readDebianLock();
  const packages = new Map<string, UnpackedPackage>();
  for (const locked of lock.packages[architecture]) {
    const bytes = await fetchPackage(lock, locked, cache);
    packages.set(locked.name, await unpackPackage(bytes, locked.name));
  }
  const { bytes, licence } = await fetchNode(architecture, cache);
  const { tree } = selectFiles(packages, architecture, bytes);
  tree.set('usr/share/doc/nodejs/copyright', file(licence));
  return tree;
}

function programTree(program: ReadonlyMap<string, Buffer>, sbom: string): FileTree {
  const tree: FileTree = new Map();
  for (const [path, bytes] of program) {
    const isProgram = path === 'package/dist/main.js';
    tree.set(path.replace(/^package\//, 'opt/gatewright/'), file(bytes, isProgram ? 0o755 : 0o644));
  }
  tree.set('usr/share/doc/gatewright/sbom.cdx.json', file(sbom));
  return tree;
}

interface OneImage {
  readonly architecture: Architecture;
  readonly trees: readonly FileTree[];
  readonly source: ReleaseSource;
}

async function addImage(
  layout: OciLayoutWriter,
  { architecture, trees, source }: OneImage,
): Promise<OciDescriptor> {
  const layers: OciDescriptor[] = [];
  const hashes: string[] = [];
  for (const tree of trees) {
    const archive = await tarOf(tree, source.committedAt);
    hashes.push(`sha256:${sha256Of(archive)}`);
    layers.push(layout.addBlob(gzipSync(archive, { level: 6 }), mediaTypes.layer));
  }
  const config = imageConfig(architecture, hashes, source);
  const manifest = layout.addManifest({
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: layout.addBlob(Buffer.from(JSON.stringify(config)), mediaTypes.imageConfig),
    layers,
    annotations: labelsOf(source),
  });
  return { ...manifest, platform: { os: 'linux', architecture } };
}

function labelsOf({ version, commit }: ReleaseSource): Record<string, string> {
  const prefix = 'org.opencontainers.image';
  return {
    [`${prefix}.title`]: 'gatewright',
    [`${prefix}.description`]: 'Self-hosted control plane and GitOps operator for an AI gateway',
    [`${prefix}.licenses`]: 'MIT',
    [`${prefix}.version`]: version,
    [`${prefix}.revision`]: commit,
  };
}

/** The same settings as the last stage of the Dockerfile. */
function imageConfig(
  architecture: Architecture,
  hashes: readonly string[],
  source: ReleaseSource,
): object {
  const created = source.committedAt.toISOString();
  const second = 1_000_000_000;
  return {
    created,
    architecture,
    os: 'linux',
    config: {
      User: `${imageUser}:${imageUser}`,
      ExposedPorts: { '8080/tcp': {}, '9464/tcp': {} },
      Env: [
        'PATH=/usr/local/bin:/usr/bin',
        'HOME=/tmp',
        'NODE_ENV=production',
        'GATEWRIGHT_HOST=0.0.0.0',
        'GATEWRIGHT_HOME=/var/lib/gatewright',
      ],
      Entrypoint: ['tini', '--', 'gatewright'],
      Cmd: ['serve'],
      WorkingDir: '/var/lib/gatewright',
      Labels: labelsOf(source),
      StopSignal: 'SIGTERM',
      Healthcheck: {
        Test: ['CMD', 'gatewright', 'healthcheck'],
        Interval: 10 * second,
        Timeout: 5 * second,
        StartPeriod: 60 * second,
      },
    },
    rootfs: { type: 'layers', diff_ids: hashes },
    history: hashes.map(() => ({ created, created_by: 'npm run release' })),
  };
}
