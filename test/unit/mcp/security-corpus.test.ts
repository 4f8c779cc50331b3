/** Verifies that each case of the security corpus of MCP has its test, and that no hostile test is missing in it. */
import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { corpusCases, corpusGroupNames } from '../../support/mcp/security-corpus.ts';

const root = resolve(import.meta.dirname, '../../..');

describe('the security corpus', () => {
  it('has cases in all 15 groups', () => {
    expect(corpusGroupNames).toHaveLength(15);
    expect(new Set(corpusCases.map(({ group }) => group)).size).toBe(15);
  });

  it.each(corpusCases)('has a test for $attack', ({ file, title }) => {
    expect(readFileSync(resolve(root, file), 'utf8')).toContain(`'${title}'`);
  });

  it('names every file of hostile tests', () => {
    const folder = 'test/api/mcp/corpus';
    const files = readdirSync(resolve(root, folder)).map((name) => `${folder}/${name}`);
    const named = new Set(corpusCases.map(({ file }) => file));
    expect(files.filter((file) => !named.has(file))).toEqual([]);
  });
});
