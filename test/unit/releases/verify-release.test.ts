/** Tests that a release folder is accepted whole, and refused with the exact reason after any change. */
import {
  appendFileSync,
  copyFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sha256Of } from '../../../scripts/release/debian/package-lock.ts';
import { openSigner } from '../../../scripts/release/release-signer.ts';
import { openLayout } from '../../../src/releases/oci-layout.ts';
import { trustOfKey } from '../../../src/releases/signer-trust.ts';
import { verifyFile } from '../../../src/releases/verify-files.ts';
import { verifyManifests } from '../../../src/releases/verify-manifests.ts';
import { verifyReleaseFolder } from '../../../src/releases/verify-release.ts';
import { type SmallRelease, smallCommit, writeKey, writeSmallRelease } from './small-release.ts';

const anyBuild = { commit: null, builder: null };
const npmPackage = 'gatewright-1.2.3.tgz';
const image = 'gatewright-image-1.2.3';
let genuine: SmallRelease;
/** Another release by the same publisher. */
let other: SmallRelease;
let folder: string;

beforeAll(async () => {
  genuine = await writeSmallRelease();
  other = await writeSmallRelease('other', { commit: 'd'.repeat(40) }, genuine.keyPath);
});
afterAll(() => {
  for (const one of [genuine, other]) rmSync(dirname(one.folder), { recursive: true });
});
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'gatewright-changed-')), 'release');
  cpSync(genuine.folder, folder, { recursive: true });
  return () => rmSync(dirname(folder), { recursive: true });
});

const trust = () => trustOfKey(genuine.publicKey, null);
/** The reasons of all refused parts, as `name: reason`. */
async function faults(demanded = anyBuild, trusted = trust()): Promise<string[]> {
  const verdicts = await verifyReleaseFolder(folder, { trust: trusted, demanded });
  return verdicts
    .filter(({ fault }) => fault !== null)
    .map(({ name, fault }) => `${name}: ${fault}`);
}

/** Replaces a file and writes the checksums again, signed with the publisher's key. */
async function resign(): Promise<void> {
  const signer = openSigner(genuine.keyPath);
  const lines = readFileSync(join(folder, 'SHA256SUMS'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.slice(66))
    .map((path) => `${sha256Of(readFileSync(join(folder, path)))}  ${path}\n`);
  const sums = Buffer.from(lines.join(''));
  writeFileSync(join(folder, 'SHA256SUMS'), sums);
  writeFileSync(join(folder, 'SHA256SUMS.sigstore.json'), await signer.signBytes(sums));
}

function flipByte(path: string): void {
  const bytes = readFileSync(join(folder, path));
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(join(folder, path), bytes);
}

const blobs = (layout: string): string[] =>
  readdirSync(join(folder, layout, 'blobs/sha256')).map((name) => `${layout}/blobs/sha256/${name}`);

describe('a release folder', () => {
  it('is accepted as it was written, with the facts of its build', async () => {
    const verdicts = await verifyReleaseFolder(folder, { trust: trust(), demanded: anyBuild });
    expect(verdicts.map(({ fault }) => fault)).toEqual([null, null, null, null, null]);
    expect(verdicts.flatMap(({ verified }) => verified)).toHaveLength(6);
    expect(verdicts[1]!.verified[0]).toMatchObject({
      name: npmPackage,
      build: { version: '1.2.3', commit: smallCommit },
      components: 1,
    });
  });

  it('is refused for every single file with one flipped byte', async () => {
    const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== 'SHA256SUMS.sig')
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
    expect(paths.length).toBeGreaterThan(30);
    for (const path of paths) {
      flipByte(path);
      expect([path, (await faults()).length]).not.toEqual([path, 0]);
      copyFileSync(join(genuine.folder, path), join(folder, path));
    }
    expect(await faults()).toEqual([]);
  });

  it('is refused without one of its files, and with one more', async () => {
    rmSync(join(folder, 'RELEASE-NOTES.md'));
    expect(await faults()).toEqual(['SHA256SUMS: the file RELEASE-NOTES.md is missing']);
    copyFileSync(join(genuine.folder, 'RELEASE-NOTES.md'), join(folder, 'RELEASE-NOTES.md'));
    writeFileSync(join(folder, 'install.sh'), 'rm -rf /');
    expect(await faults()).toEqual(['SHA256SUMS: install.sh is not listed']);
  });

  it('is refused with the key of somebody else', async () => {
    const stranger = openSigner(writeKey(dirname(folder))).publicKey!;
    const reasons = await faults(anyBuild, trustOfKey(stranger, null));
    expect(reasons).toHaveLength(5);
    expect(reasons[0]).toBe(
      'SHA256SUMS: the signature is not valid: signature verification failed',
    );
    expect(reasons[4]).toMatch(/has no valid signature: the signature is not valid/);
  });

  it('is refused when another commit or builder is demanded', async () => {
    const [reason] = await faults({ commit: 'e'.repeat(40), builder: null });
    expect(reason).toBe(
      `${npmPackage}: it was built from commit ${smallCommit}, not ${'e'.repeat(40)}`,
    );
    const [second] = await faults({ commit: null, builder: 'https://example.com/ci' });
    expect(second).toMatch(/it was built by .*key-holder, not https:\/\/example.com\/ci$/);
  });

  it('is refused when an artefact of another release of the publisher replaces one, with its statements', async () => {
    for (const suffix of [
      '',
      '.sigstore.json',
      '.provenance.sigstore.json',
      '.sbom.sigstore.json',
    ]) {
      copyFileSync(join(other.folder, npmPackage + suffix), join(folder, npmPackage + suffix));
    }
    await resign();
    expect(await faults()).toEqual([
      expect.stringMatching(/^release: .* of commit c0ffee0+; .* of commit d{40}/),
    ]);
  });
});

describe('an artefact', () => {
  const verified = () => verifyFile(folder, npmPackage, { trust: trust(), demanded: anyBuild });

  it('is refused with the signature of another artefact', async () => {
    copyFileSync(
      join(other.folder, `${npmPackage}.sigstore.json`),
      join(folder, `${npmPackage}.sigstore.json`),
    );
    await expect(verified()).rejects.toThrow('the signature is not valid');
  });

  it('is refused with provenance of another artefact, although the publisher signed it', async () => {
    const name = `${npmPackage}.provenance.sigstore.json`;
    copyFileSync(join(other.folder, name), join(folder, name));
    await expect(verified()).rejects.toThrow(
      /its provenance is about another artefact \(gatewright-1.2.3.tgz, sha256 [0-9a-f]{64}\), not about/,
    );
  });

  it('is refused when the SBOM stands in for the provenance', async () => {
    copyFileSync(
      join(folder, `${npmPackage}.sbom.sigstore.json`),
      join(folder, `${npmPackage}.provenance.sigstore.json`),
    );
    await expect(verified()).rejects.toThrow('the statement has the predicate https://cyclonedx');
  });

  it('is refused when its readable SBOM differs from the signed one', async () => {
    const path = join(folder, `${npmPackage}.cdx.json`);
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace('"part"', '"port"'));
    await expect(verified()).rejects.toThrow('.cdx.json differs from the signed SBOM');
  });

  it('is refused with an envelope whose payload was changed', async () => {
    const path = join(folder, `${npmPackage}.provenance.sigstore.json`);
    const bundle = JSON.parse(readFileSync(path, 'utf8'));
    const payload = Buffer.from(bundle.dsseEnvelope.payload, 'base64').toString();
    const changed = payload.replaceAll(smallCommit, 'a'.repeat(40));
    bundle.dsseEnvelope.payload = Buffer.from(changed).toString('base64');
    writeFileSync(path, JSON.stringify(bundle));
    await expect(verified()).rejects.toThrow('signature verification failed');
  });

  it('is refused when a certificate that anybody can issue replaces the key', async () => {
    const path = join(folder, `${npmPackage}.sigstore.json`);
    const bundle = JSON.parse(readFileSync(path, 'utf8'));
    bundle.verificationMaterial = { certificate: { rawBytes: 'AAAA' }, tlogEntries: [] };
    writeFileSync(path, JSON.stringify(bundle));
    await expect(verified()).rejects.toThrow(/the (?:bundle|signature)/);
  });
});

describe('a layout', () => {
  const verified = () =>
    verifyManifests(image, openLayout(join(folder, image)), {
      trust: trust(),
      demanded: anyBuild,
    });
  const changeIndex = (change: (index: { manifests: { digest: string }[] }) => void): void => {
    const path = join(folder, image, 'index.json');
    const index = JSON.parse(readFileSync(path, 'utf8'));
    change(index);
    writeFileSync(path, JSON.stringify(index));
  };

  it('is accepted on its own', async () => {
    expect(await verified()).toHaveLength(2);
  });

  it.each(['sha256:../../../../etc/passwd', 'sha256:..', '../index.json'])(
    'is refused with the digest %s, without leaving the folder',
    async (digest) => {
      changeIndex(({ manifests }) => {
        manifests[0]!.digest = digest;
      });
      expect(() => openLayout(join(folder, image))).toThrow(
        'index.json is malformed at manifests.0.digest: must be sha256: and 64 hexadecimal digits',
      );
    },
  );

  it('is refused when a blob is a symbolic link', async () => {
    const [blob] = blobs(image);
    renameSync(join(folder, blob!), join(folder, 'elsewhere'));
    symlinkSync(join(folder, 'elsewhere'), join(folder, blob!));
    await expect(verified()).rejects.toThrow('is or passes a symbolic link');
  });

  it('is refused without any of its blobs, except those that only the older form of signatures has', async () => {
    const missing: string[] = [];
    for (const blob of blobs(image)) {
      renameSync(join(folder, blob), join(folder, 'aside'));
      if (
        await verified().then(
          () => false,
          () => true,
        )
      )
        missing.push(blob);
      renameSync(join(folder, 'aside'), join(folder, blob));
    }
    // Only cosign reads the payload and the config of the two signatures by tag.
    expect(missing).toHaveLength(blobs(image).length - 4);
  });

  it('is refused when its attachments are those of another image', async () => {
    const others = JSON.parse(readFileSync(join(other.folder, image, 'index.json'), 'utf8'));
    cpSync(join(other.folder, image, 'blobs'), join(folder, image, 'blobs'), { recursive: true });
    changeIndex((index) => {
      index.manifests = [index.manifests[0]!, ...others.manifests.slice(1)];
    });
    await expect(verified()).rejects.toThrow('has no valid signature: nothing of this kind');
  });

  it('accepts further attachments that do not concern it', async () => {
    appendFileSync(join(folder, 'unrelated'), '');
    changeIndex((index) => {
      index.manifests.push(index.manifests[1]!);
    });
    expect(await verified()).toHaveLength(2);
  });
});

describe('a list of checksums', () => {
  it.each(['../outside', '/etc/passwd', 'a/../../outside', './x', 'a\\b', ''])(
    'is refused with the path "%s", even if the publisher signed them',
    async (path) => {
      const sums = Buffer.from(`${'0'.repeat(64)}  ${path}\n`);
      writeFileSync(join(folder, 'SHA256SUMS'), sums);
      const bundle = await openSigner(genuine.keyPath).signBytes(sums);
      writeFileSync(join(folder, 'SHA256SUMS.sigstore.json'), bundle);
      const [reason] = await faults();
      expect(reason).toMatch(
        /^SHA256SUMS: (?:the path ".*" leads out of the folder|malformed line)/,
      );
    },
  );
});
