/** Tests what a release says about its parts: bills of materials, licences, notes, known vulnerabilities. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { describe, expect, inject, it } from 'vitest';

const { folder, version, clone } = inject('release');

describe('the bills of materials', () => {
  it.each([`gatewright-${version}.tgz.cdx.json`, `gatewright-chart-${version}.tgz.cdx.json`])(
    'follow the schema of CycloneDX: %s',
    async (name) => {
      const text = readFileSync(join(folder, name), 'utf8');
      const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
      expect(await validator.validate(text)).toBeNull();
    },
  );

  it('list every package that the program depends on, and no package of development', () => {
    const text = readFileSync(join(folder, `gatewright-${version}.tgz.cdx.json`), 'utf8');
    const { components } = JSON.parse(text) as { components: { group?: string; name: string }[] };
    const names = components.map(({ group, name }) => (group ? `${group}/${name}` : name));
    const read = (path: string) => JSON.parse(readFileSync(join(clone, path), 'utf8'));
    const own = Object.keys(read('package.json').dependencies);
    expect(names).toEqual(expect.arrayContaining([...own, 'preact', 'uplot']));
    expect(names).not.toContain('vitest');
    expect(names).not.toContain('rolldown');
  });
});

describe('the third-party licences', () => {
  it('contain every component with a licence', () => {
    const text = readFileSync(join(folder, 'THIRD-PARTY-LICENSES.md'), 'utf8');
    const bom = JSON.parse(
      readFileSync(join(folder, `gatewright-${version}.tgz.cdx.json`), 'utf8'),
    ) as { components: { group?: string; name: string; version: string }[] };
    for (const { group, name, version: of } of bom.components) {
      expect(text).toMatch(`| ${group ? `${group}/` : ''}${name} ${of} | `);
    }
    expect(text).not.toMatch(/\| (?:UNKNOWN|UNLICENSED|SEE LICEN[CS]E.*|) \|$/m);
    const packed = execFileSync('tar', ['-tzf', join(folder, `gatewright-${version}.tgz`)]);
    expect(packed.toString().split('\n')).toContain('package/THIRD-PARTY-LICENSES.md');
  });
});

describe('the release notes', () => {
  it('are those of the version, which is the same everywhere', () => {
    expect(readFileSync(join(folder, 'RELEASE-NOTES.md'), 'utf8')).toMatch(
      new RegExp(`^# gatewright ${version.replaceAll('.', '\\.')}\n\n[^#]`),
    );
    const chart = readFileSync(join(clone, 'charts/gatewright/Chart.yaml'), 'utf8');
    expect(chart).toContain(`\nversion: ${version}\n`);
    expect(chart).toContain(`\nappVersion: ${version}\n`);
    const dockerfile = readFileSync(join(clone, 'Dockerfile'), 'utf8');
    expect(dockerfile).toContain(`ARG VERSION=${version}\n`);
    expect(readdirSync(folder)).toContain(`gatewright-image-${version}`);
  });
});

describe('the production packages', () => {
  const audit = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
    cwd: clone,
    encoding: 'utf8',
  });
  const report = parsed(audit.stdout);
  const why = report?.metadata === undefined ? 'the registry does not answer npm audit' : null;

  it.skipIf(why !== null)(`have no known vulnerability${why === null ? '' : ` (${why})`}`, () => {
    expect(Object.keys(report!.vulnerabilities ?? {})).toEqual([]);
  });
});

function parsed(
  text: string,
): { readonly metadata?: object; readonly vulnerabilities?: object } | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
