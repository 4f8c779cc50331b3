/** Tests the image of a release: its bytes, its files for both architectures, and a start as root. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { elfMachines, readElf } from '../../scripts/release/elf.ts';
import type { OciDescriptor, OciManifest } from '../../src/releases/oci-documents.ts';
import { createEmptyDatabase } from '../support/database/database.ts';
import { databaseVariables } from '../support/database/database-variables.ts';
import { buildRelease } from './build-release.ts';
import { runProgram, serveProgram } from './served-program.ts';

const { folder, version, commit, clone, keyPath } = inject('release');
const layout = join(folder, `gatewright-image-${version}`);
const work = mkdtempSync(join(tmpdir(), 'gatewright-image-'));
afterAll(() => rmSync(work, { recursive: true, force: true }));

function blob({ digest }: OciDescriptor, of = layout): Buffer {
  return readFileSync(join(of, 'blobs', digest.replace(':', '/')));
}
const manifestOf = (descriptor: OciDescriptor): OciManifest =>
  JSON.parse(blob(descriptor).toString());
function indexOf(of: string): OciDescriptor {
  const { manifests }: OciManifest = JSON.parse(readFileSync(join(of, 'index.json'), 'utf8'));
  return manifests![0]!;
}
function imageOf(architecture: string): OciManifest {
  const { manifests } = manifestOf(indexOf(layout));
  return manifestOf(manifests!.find(({ platform }) => platform?.architecture === architecture)!);
}

/** Unpacks the layers of an image; returns its root. */
function unpack(architecture: string): string {
  const root = join(work, architecture);
  execFileSync('mkdir', ['-p', root]);
  for (const layer of imageOf(architecture).layers!) {
    const input = gunzipSync(blob(layer));
    execFileSync('tar', ['-x', '-p', '-C', root], { input, maxBuffer: 2 ** 20 });
  }
  return root;
}

describe('two builds of one commit', () => {
  it('have the same package, chart, image and bills of materials, whatever the folder, zone and mask', () => {
    const second = join(work, 'second');
    buildRelease(clone, second, keyPath, { env: { TZ: 'Asia/Tokyo', LC_ALL: 'C' } });
    const names = readdirSync(folder).filter((name) => /\.tgz$|\.cdx\.json$|\.md$/.test(name));
    expect(names).toHaveLength(6);
    for (const name of names) {
      expect(readFileSync(join(second, name)).equals(readFileSync(join(folder, name)))).toBe(true);
    }
    for (const name of [`gatewright-image-${version}`, `gatewright-chart-${version}`]) {
      expect(indexOf(join(second, name))).toEqual(indexOf(join(folder, name)));
    }
  });
});

describe.each(['amd64', 'arm64'] as const)('the image for %s', (architecture) => {
  let root: string;
  beforeAll(() => {
    root = unpack(architecture);
  });

  it('contains only programs and libraries of this architecture, and all that they load', () => {
    const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    const names = new Set(readdirSync(root, { recursive: true, encoding: 'utf8' }).map(lastPart));
    const elves = files
      .map(({ parentPath, name }) => readElf(readFileSync(join(parentPath, name))))
      .filter((elf) => elf !== null);
    expect(elves.length).toBeGreaterThan(30);
    expect(new Set(elves.map(({ machine }) => machine))).toEqual(
      new Set([elfMachines[architecture]]),
    );
    expect(elves.flatMap(({ needed }) => needed).filter((name) => !names.has(name))).toEqual([]);
  });

  it('names its commit, runs as another user than root, and has bills and licences', () => {
    const { config } = imageOf(architecture);
    const settings = JSON.parse(blob(config!).toString());
    expect(settings).toMatchObject({
      architecture,
      os: 'linux',
      config: {
        User: '65532:65532',
        Labels: { 'org.opencontainers.image.revision': commit },
        Entrypoint: ['tini', '--', 'gatewright'],
      },
    });
    const bom = JSON.parse(
      readFileSync(join(root, 'usr/share/doc/gatewright/sbom.cdx.json'), 'utf8'),
    );
    const purls = bom.components.map(({ purl }: { purl?: string }) => purl);
    const recorded = readdirSync(join(root, 'var/lib/dpkg/status.d'));
    expect(recorded.length).toBeGreaterThan(30);
    for (const name of recorded) {
      expect(purls).toContainEqual(
        expect.stringMatching(`^pkg:deb/debian/${encodeURIComponent(name)}@.*arch=${architecture}`),
      );
      expect(readdirSync(join(root, 'usr/share/doc')), name).toContain(name);
    }
    expect(readdirSync(join(root, 'opt/gatewright'))).toContain('THIRD-PARTY-LICENSES.md');
  });
});

const lastPart = (path: string): string => path.split('/').at(-1)!;

const why =
  process.getuid!() !== 0 || process.arch !== 'x64'
    ? 'only root can change the root folder, and the image is of another architecture elsewhere'
    : null;

describe.skipIf(why !== null)(
  `the image as a root folder${why === null ? '' : ` (${why})`}`,
  () => {
    const root = () => join(work, 'amd64');
    function run(...words: string[]) {
      const flags = ['--userspec=65532:65532', root()];
      return spawnSync('chroot', [...flags, ...words], { encoding: 'utf8', env: environment });
    }

    it('runs its programs', () => {
      expect(run('gatewright', '--version')).toMatchObject({ status: 0, stdout: `${version}\n` });
      for (const words of [
        ['git', '--version'],
        ['ssh', '-V'],
        ['gpg', '--version'],
        ['tini', '--version'],
        ['sh', '-c', 'exit 0'],
        ['gatewright', 'validate', '/opt/gatewright/examples/1-quickstart'],
      ]) {
        expect([words, run(...words).status]).toEqual([words, 0]);
      }
      expect(run('git', 'ls-remote', 'https://127.0.0.1:9/x').stderr).toContain(
        'Failed to connect',
      );
    });

    it('migrates a database, serves until it is ready, and stops when asked', async () => {
      await using database = await createEmptyDatabase();
      const env = {
        ...environment,
        ...databaseVariables(database.settings),
        GATEWRIGHT_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
        GATEWRIGHT_LAME_DUCK_SECONDS: '0',
      };
      const command = ['chroot', '--userspec=65532:65532', root(), 'tini', '--', 'gatewright'];
      expect(await runProgram(command, ['migrate'], env)).toMatchObject({
        exitCode: 0,
        stderr: '',
      });
      await using server = await serveProgram(command, env);
      expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(200);
      expect(await server.stop()).toBe(0);
    });
  },
);

const environment = {
  PATH: '/usr/local/bin:/usr/bin:/usr/sbin:/sbin:/bin',
  HOME: '/tmp',
  NODE_ENV: 'production',
  GATEWRIGHT_HOME: '/var/lib/gatewright',
  GATEWRIGHT_HOST: '127.0.0.1',
};
