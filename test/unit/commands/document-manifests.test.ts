/** Verifies that the manifests of each guide are a valid source. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runWords } from '../../support/server/command-line.ts';

const guides = resolve(import.meta.dirname, '../../../docs/guides');

/** Each guide with the blocks that are manifests. */
const sources = readdirSync(guides).flatMap((name) => {
  const text = readFileSync(join(guides, name), 'utf8');
  const blocks = [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, block]) => block!);
  const manifests = blocks.filter((block) => block.startsWith('apiVersion: gatewright.dev/'));
  return manifests.length === 0 ? [] : [{ name, manifests }];
});

describe('the manifests of docs/guides', () => {
  it('exists in several guides', () => {
    expect(sources.length).toBeGreaterThan(5);
  });

  it.each(sources)('$name has only manifests that validate', async ({ manifests }) => {
    const folder = mkdtempSync(join(tmpdir(), 'gatewright-manifests-'));
    try {
      mkdirSync(join(folder, 'gateway'));
      writeFileSync(join(folder, 'gateway/guide.yaml'), manifests.join('---\n'));
      const { exitCode, stdout, stderr } = await runWords(['validate', 'gateway'], folder);
      expect([exitCode, stderr], stdout).toEqual([0, '']);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
