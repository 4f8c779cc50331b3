/** Verifies a release folder: its checksums, each artefact in it, and that all are of one build. */
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { openLayout } from './oci-layout.ts';
import { ReleaseFault } from './release-fault.ts';
import { readReleaseFile, requireFile, sha256OfFile } from './release-files.ts';
import { artefactSuffixes, checksumsFile, publicKeyFile, releaseNames } from './release-names.ts';
import { verifyFile } from './verify-files.ts';
import { type Expectations, type VerifiedArtefact, verifyManifests } from './verify-manifests.ts';

/** The result for one artefact: what was verified, or why it is refused. */
export type ArtefactVerdict =
  | { readonly name: string; readonly verified: readonly VerifiedArtefact[]; readonly fault: null }
  | { readonly name: string; readonly verified: readonly []; readonly fault: string };

/** Runs a check and turns its fault into a verdict. */
export async function toVerdict(
  name: string,
  check: () => Promise<readonly VerifiedArtefact[]>,
): Promise<ArtefactVerdict> {
  try {
    return { name, verified: await check(), fault: null };
  } catch (error) {
    if (!(error instanceof ReleaseFault)) throw error;
    return { name, verified: [], fault: error.message };
  }
}

/** Verifies all parts, also after a fault, so that one run shows every fault. */
export async function verifyReleaseFolder(
  folder: string,
  expectations: Expectations,
): Promise<ArtefactVerdict[]> {
  const verdicts = [
    await toVerdict(checksumsFile, async () => {
      await verifyChecksums(folder, expectations);
      return [];
    }),
  ];
  const version = versionOf(folder);
  if (version === null) {
    const fault = `the folder has no ${releaseNames('VERSION').npmPackage}`;
    return [...verdicts, { name: 'npm package', verified: [], fault }];
  }
  const names = releaseNames(version);
  for (const name of [names.npmPackage, names.chart]) {
    verdicts.push(
      await toVerdict(name, async () => [await verifyFile(folder, name, expectations)]),
    );
  }
  for (const name of [names.chartLayout, names.imageLayout]) {
    const check = () => verifyManifests(name, openLayout(join(folder, name)), expectations);
    verdicts.push(await toVerdict(name, check));
  }
  return [...verdicts, ...oneBuild(verdicts, version)];
}

/** Finds the version in the name of the npm package. */
function versionOf(folder: string): string | null {
  const names = readdirSync(folder).map((name) => /^gatewright-(\d[\w.+-]*)\.tgz$/.exec(name)?.[1]);
  const [version, second] = names.filter((one) => one !== undefined);
  return second === undefined ? (version ?? null) : null;
}

const checksumLine = /^([0-9a-f]{64}) {2}(.+)$/;

async function verifyChecksums(folder: string, { trust }: Expectations): Promise<void> {
  const bytes = readReleaseFile(folder, checksumsFile);
  const bundle = readReleaseFile(folder, checksumsFile + artefactSuffixes.signature);
  trust.verifyBytes(bundle.toString(), bytes);
  const listed = new Set<string>();
  for (const line of bytes.toString().split('\n').slice(0, -1)) {
    const [, expected, path] = checksumLine.exec(line) ?? [];
    if (path === undefined) throw new ReleaseFault(`malformed line ${JSON.stringify(line)}`);
    const actual = await sha256OfFile(requireFile(folder, path));
    if (actual !== expected)
      throw new ReleaseFault(`${path} has sha256 ${actual}, not ${expected}`);
    listed.add(path);
  }
  const own = [
    checksumsFile,
    `${checksumsFile}${artefactSuffixes.signature}`,
    `${checksumsFile}.sig`,
  ];
  const extra = filesBelow(folder).find((path) => !listed.has(path) && !own.includes(path));
  if (extra !== undefined) throw new ReleaseFault(`${extra} is not listed`);
  // A public key beside what it verifies proves nothing; it is listed for the record.
  if (listed.size === (listed.has(publicKeyFile) ? 1 : 0))
    throw new ReleaseFault('it lists no file');
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

/** Returns a verdict with a fault when artefacts are of different commits or versions. */
function oneBuild(verdicts: readonly ArtefactVerdict[], version: string): ArtefactVerdict[] {
  const builds = verdicts.flatMap(({ verified }) => verified);
  const [first] = builds;
  const other = builds.find(
    ({ build }) => build.commit !== first?.build.commit || build.version !== version,
  );
  if (first === undefined || other === undefined) return [];
  const { commit, version: built } = other.build;
  const fault = `${other.name} is version ${built} of commit ${commit}; ${first.name} is of commit ${first.build.commit}, and the folder names version ${version}`;
  return [{ name: 'release', verified: [], fault }];
}
