/** Tests that the chart can be packaged, pushed to a registry and installed from there. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chartFolder, complete, helm, helmMajors, renderText } from './helm.ts';
import { missingRegistry, type OciRegistry, startRegistry } from './oci-registry.ts';

const why = missingRegistry();

describe.skipIf(why !== null)(`the packaged chart${why === null ? '' : ` (${why})`}`, () => {
  let registry: OciRegistry;
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-package-'));

  beforeAll(async () => {
    registry = await startRegistry();
  });
  afterAll(async () => {
    await registry?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(helmMajors)(
    'pushes to a registry with Helm %i and renders from there like the clone',
    async (major) => {
      const place = join(folder, `helm${major}`);
      const charts = `oci://${registry.address}/charts-${major}`;
      const packed = await helm(major, ['package', chartFolder, '--destination', place]);
      expect(packed).toMatchObject({ exitCode: 0 });
      const archive = join(place, 'gatewright-0.1.0.tgz');
      const pushed = await helm(major, ['push', '--plain-http', archive, charts]);
      expect(pushed).toMatchObject({ exitCode: 0 });
      const source = [`${charts}/gatewright`, '--version', '0.1.0', '--plain-http'];
      const words = ['template', 'gw', ...source, '--namespace', 'gateways'];
      const { stdout } = await helm(major, words, complete);
      expect(stdout).toBe(await renderText(complete, major));
    },
  );

  it('holds every file of the chart, and no other', async () => {
    await helm(4, ['package', chartFolder, '--destination', folder]);
    const archive = join(folder, 'gatewright-0.1.0.tgz');
    const packed = execFileSync('tar', ['-tzf', archive], { encoding: 'utf8' }).trim().split('\n');
    const own = readdirSync(chartFolder, { recursive: true, encoding: 'utf8' })
      .filter((name) => statSync(join(chartFolder, name)).isFile())
      .map((name) => `gatewright/${name}`);
    expect(packed.sort()).toEqual(own.sort());
  });
});
