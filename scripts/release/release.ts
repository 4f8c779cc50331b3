/** Builds a release: `npm run release -- [--out DIR] [--key FILE] [--push REGISTRY]`. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { releaseNames } from '../../src/releases/release-names.ts';
import { type Attachments, attachStatements } from './attach.ts';
import { addChart, buildChart } from './chart.ts';
import { architectures } from './debian/package-lock.ts';
import { addImages } from './image.ts';
import { licencesFile, listLicences } from './licences.ts';
import { nodeVersion } from './node-program.ts';
import { buildNpmPackage, readArchive } from './npm-package.ts';
import { OciLayoutWriter } from './oci-layout-writer.ts';
import { pushLayout } from './push.ts';
import { ReleaseFolderWriter } from './release-folder-writer.ts';
import { releaseNotes } from './release-notes.ts';
import { openSigner } from './release-signer.ts';
import { chartSbom, imageSbom, npmSbom, type Sbom, sbomText } from './sbom.ts';
import { exportSource, type ReleaseSource } from './source.ts';

const root = resolve(import.meta.dirname, '../..');
const cache = join(root, '.cache/release');

const usage = `npm run release -- [--out DIR] [--key FILE] [--push REGISTRY]

  --out DIR        new folder of the release; release by default
  --key FILE       ECDSA key on P-256 in PEM, or a key of cosign; COSIGN_PASSWORD decrypts it.
                   Without it, the OIDC token of the CI job signs (keyless).
  --push REGISTRY  pushes the image and the chart: registry.example.com/team
`;

process.umask(0o022);
try {
  await main();
} catch (error) {
  process.stderr.write(`release: ${(error as Error).message}\n`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      out: { type: 'string', default: 'release' },
      key: { type: 'string' },
      push: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  if (process.version !== `v${nodeVersion}`) {
    throw new Error(
      `this is Node ${process.version}; only ${nodeVersion} builds the same bytes: npx -p node@${nodeVersion} -- npm run release`,
    );
  }
  const out = resolve(values.out);
  if (existsSync(out) && readdirSync(out).length > 0) {
    throw new Error(`${out} is not empty: name a new folder with --out`);
  }
  const signer = openSigner(values.key ?? null);
  const work = mkdtempSync(join(tmpdir(), 'gatewright-release-'));
  try {
    const source = exportSource(join(work, 'source'));
    const writer = new ReleaseFolderWriter(out, signer, source);
    await writeRelease(writer, source, (layout) => ({ layout, signer, source }));
    say(`release ${source.version} of commit ${source.commit} is in ${out}`);
    if (values.push !== undefined) await pushBoth(out, source.version, values.push);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function writeRelease(
  writer: ReleaseFolderWriter,
  source: ReleaseSource,
  attachmentsTo: (layout: OciLayoutWriter) => Attachments,
): Promise<void> {
  const names = releaseNames(source.version);
  const read = (path: string): string => readFileSync(join(source.folder, path), 'utf8');
  const bom = npmSbom(source);
  const licences = listLicences(bom, source.folder);
  writer.write(licencesFile, licences);
  writer.write('RELEASE-NOTES.md', releaseNotes(read('CHANGELOG.md'), source.version));

  const npmPackage = await buildNpmPackage(source, licences);
  await writer.writeArtefact({ name: names.npmPackage, bytes: npmPackage, bom });
  say(`built ${names.npmPackage}`);

  const chart = await buildChart(source);
  const chartBom = chartSbom(
    bom,
    read('charts/gatewright/Chart.yaml'),
    read('charts/gatewright/values.yaml'),
  );
  await writer.writeArtefact({ name: names.chart, bytes: chart, bom: chartBom });
  const chartLayout = new OciLayoutWriter(join(writer.folder, names.chartLayout));
  const chartManifest = addChart(chartLayout, chart, source);
  await attachStatements(attachmentsTo(chartLayout), chartManifest, chartBom);
  chartLayout.close();
  say(`built ${names.chart} and ${names.chartLayout}, ${chartManifest.digest}`);

  const imageLayout = new OciLayoutWriter(join(writer.folder, names.imageLayout));
  await writeImage(attachmentsTo(imageLayout), bom, npmPackage);
  await writer.close();
}

async function writeImage(attachments: Attachments, bom: Sbom, npmPackage: Buffer): Promise<void> {
  const { layout, source } = attachments;
  const bomOf = new Map(architectures.map((one) => [one, imageSbom(bom, one)]));
  const { index, images } = await addImages(layout, {
    source,
    program: await readArchive(npmPackage),
    sbomOf: (architecture) => sbomText(bomOf.get(architecture)!),
    cache,
  });
  for (const architecture of architectures) {
    const manifest = images.get(architecture)!;
    await attachStatements(attachments, manifest, bomOf.get(architecture)!);
  }
  // The SBOM of the index is that of the program, which all images share.
  await attachStatements(attachments, index, bom);
  layout.close();
  say(`built ${releaseNames(source.version).imageLayout}, ${index.digest}`);
}

async function pushBoth(out: string, version: string, registry: string): Promise<void> {
  const { imageLayout, chartLayout } = releaseNames(version);
  // Helm expects the name of the chart at the end of its repository.
  const targets = { [imageLayout]: 'gatewright', [chartLayout]: 'charts/gatewright' };
  for (const [layout, repository] of Object.entries(targets)) {
    await pushLayout(join(out, layout), `${registry}/${repository}`);
    say(`pushed ${registry}/${repository}:${version}`);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
