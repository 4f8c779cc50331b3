/** Tests that cosign verifies the files of a release, and that its own keys sign one. */
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, it, vi } from 'vitest';
import { pushLayout } from '../../scripts/release/push.ts';
import { openSigner } from '../../scripts/release/release-signer.ts';
import { helm, helmMajors } from '../chart/helm.ts';
import { missingRegistry, startRegistry } from '../chart/oci-registry.ts';
import { cosign, missingCosign } from './cosign.ts';
import { runProgram } from './served-program.ts';

const why = missingCosign();
const noRegistry = missingRegistry();
const { folder, version, publicKeyPath } = inject('release');
const work = mkdtempSync(join(tmpdir(), 'gatewright-cosign-'));
afterAll(() => rmSync(work, { recursive: true, force: true }));
const trusted = ['--key', publicKeyPath, '--insecure-ignore-tlog'];

describe.skipIf(why !== null)(`cosign${why === null ? '' : ` (${why})`}`, () => {
  const names = [`gatewright-${version}.tgz`, `gatewright-chart-${version}.tgz`];

  it.each(names)('verifies signature, provenance and bill of materials of %s', (name) => {
    const file = join(folder, name);
    const bundle = (suffix: string) => ['--bundle', `${file}.${suffix}`, file];
    expect(cosign(['verify-blob', ...trusted, ...bundle('sigstore.json')]).output).toContain('OK');
    for (const [type, suffix] of [
      ['slsaprovenance1', 'provenance.sigstore.json'],
      ['cyclonedx', 'sbom.sigstore.json'],
    ] as const) {
      const words = ['verify-blob-attestation', ...trusted, '--type', type, ...bundle(suffix)];
      expect(cosign(words)).toMatchObject({ exitCode: 0, output: expect.stringContaining('OK') });
    }
  });

  it('verifies the checksums, and refuses them after a change', () => {
    const sums = join(folder, 'SHA256SUMS');
    const bundle = ['--bundle', `${sums}.sigstore.json`];
    expect(cosign(['verify-blob', ...trusted, ...bundle, sums]).exitCode).toBe(0);
    const changed = join(work, 'SHA256SUMS');
    copyFileSync(sums, changed);
    writeFileSync(changed, 'x', { flag: 'a' });
    expect(cosign(['verify-blob', ...trusted, ...bundle, changed]).exitCode).not.toBe(0);
  });

  it('generates a key that signs, when its password is given', async () => {
    const prefix = join(work, 'cosign');
    const generated = ['generate-key-pair', '--output-key-prefix', prefix];
    expect(cosign(generated, { COSIGN_PASSWORD: 'secret' }).exitCode).toBe(0);
    vi.stubEnv('COSIGN_PASSWORD', 'secret');
    const file = join(work, 'file');
    writeFileSync(file, 'content');
    const bundle = await openSigner(`${prefix}.key`).signBytes(Buffer.from('content'));
    writeFileSync(`${file}.json`, bundle);
    const key = ['--key', `${prefix}.pub`, '--insecure-ignore-tlog', '--bundle', `${file}.json`];
    expect(cosign(['verify-blob', ...key, file]).exitCode).toBe(0);
    vi.stubEnv('COSIGN_PASSWORD', 'wrong');
    expect(() => openSigner(`${prefix}.key`)).toThrow('COSIGN_PASSWORD does not decrypt it');
  });
});

describe.skipIf(noRegistry !== null)(
  `a registry${noRegistry === null ? '' : ` (${noRegistry})`}`,
  () => {
    it('serves the pushed image and chart to gatewright verify, cosign and Helm', async () => {
      await using registry = await startRegistry();
      const image = `${registry.address}/team/gatewright`;
      const charts = `${registry.address}/team/charts`;
      await pushLayout(join(folder, `gatewright-image-${version}`), image);
      await pushLayout(join(folder, `gatewright-chart-${version}`), `${charts}/gatewright`);
      const program = [process.execPath, join(import.meta.dirname, '../../src/main.ts')];
      for (const [name, lines] of [
        [`${image}:${version}`, 3],
        [`oci://${charts}/gatewright:${version}`, 1],
      ] as const) {
        const { exitCode, stdout } = await runProgram(program, [
          'verify',
          name,
          '--key',
          publicKeyPath,
        ]);
        expect([stdout, exitCode]).toEqual([expect.stringMatching(/^ok {6}/), 0]);
        expect(stdout.trim().split('\n')).toHaveLength(lines);
      }
      const { stdout, exitCode } = await runProgram(program, [
        'verify',
        `${image}:9.9.9`,
        '--key',
        publicKeyPath,
      ]);
      expect([exitCode, stdout]).toEqual([3, expect.stringContaining('the registry has no 9.9.9')]);
      for (const major of helmMajors) {
        const source = [`oci://${charts}/gatewright`, '--version', version, '--plain-http'];
        expect(await helm(major, ['show', 'chart', ...source])).toMatchObject({
          exitCode: 0,
          stdout: expect.stringContaining(`appVersion: ${version}`),
        });
      }
      if (why !== null) return;
      const insecure = ['--allow-http-registry', '--allow-insecure-registry'];
      expect(cosign(['verify', ...trusted, ...insecure, `${image}:${version}`])).toMatchObject({
        exitCode: 0,
      });
      const attestation = ['verify-attestation', ...trusted, ...insecure];
      for (const type of ['slsaprovenance1', 'cyclonedx']) {
        const words = [...attestation, '--type', type, `${image}:${version}`];
        expect(cosign(words)).toMatchObject({ exitCode: 0 });
      }
      const older = ['verify', ...trusted, ...insecure, '--new-bundle-format=false'];
      expect(cosign([...older, `${image}:${version}`])).toMatchObject({ exitCode: 0 });
    });
  },
);
