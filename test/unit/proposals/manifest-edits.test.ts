/** Tests that edits of manifests change what was asked, and nothing else of the file. */
import { describe, expect, it } from 'vitest';
import { sliceAt, withSlice } from '../../../src/proposals/planning/manifest-text.ts';
import { patchOf } from '../../../src/proposals/planning/patch.ts';
import { withSpec } from '../../../src/proposals/planning/spec-edit.ts';

const identity = { kind: 'Config', workspace: null, name: 'a' } as const;
const head = 'kind: Config # ours\nmetadata: {name: a}\n';

describe('a spec that is written into a manifest', () => {
  it.each([
    ['a plain value', 'spec: {n: 1, m: x}\n', { n: 2, m: 'x' }, 'spec: {n: 2, m: x}\n'],
    ['a quoted value', 'spec:\n  m: "x"  # why\n', { m: 'y z' }, 'spec:\n  m: "y z"  # why\n'],
    [
      'a value with signs of YAML',
      'spec: {m: x}\n',
      { m: 'a, b: {c}' },
      'spec: {m: "a, b: {c}"}\n',
    ],
    [
      'an item of a list',
      'spec:\n    m:\n    - 1\n    - 2\n',
      { m: [1, 3] },
      'spec:\n    m:\n    - 1\n    - 3\n',
    ],
    ['a text that looks like a number', 'spec: {m: x}\n', { m: '12' }, 'spec: {m: "12"}\n'],
  ])('replaces %s in place', (_, spec, wanted, expected) => {
    expect(withSpec(head + spec, identity, wanted)).toBe(head + expected);
  });

  it('keeps comments where fields come and go', () => {
    const text = `${head}spec:\n  # first\n  a: 1\n  # second\n  b: 2\n`;
    const changed = withSpec(text, identity, { b: 2, c: [1] })!;
    expect(changed).toContain('# second\n  b: 2\n');
    expect(changed).toContain('c:\n');
    expect(changed).toContain('kind: Config # ours');
  });

  it('finds the manifest among the items of a List', () => {
    const other = 'kind: Config\n    metadata: {name: b}\n    spec: {n: 1}';
    const own = 'kind: Config\n    metadata: {name: a}\n    spec: {n: 1}';
    const text = `kind: List\nitems:\n  - ${other}\n  - ${own}\n`;
    const changed = `kind: List\nitems:\n  - ${other}\n  - ${own.replace('n: 1', 'n: 2')}\n`;
    expect(withSpec(text, identity, { n: 2 })).toBe(changed);
  });

  it('is null for a text without the manifest, and for one that is no YAML', () => {
    expect(withSpec('kind: Config\nmetadata: {name: b}\n', identity, {})).toBeNull();
    expect(withSpec('{{{', identity, {})).toBeNull();
  });
});

describe('the document of a manifest', () => {
  const file = '# top\na: 1\n---\n# two\nb: 2\n---\nc: 3\n';

  it('is cut out by its line and put back, with everything around it unchanged', () => {
    const slice = sliceAt(file, 5)!;
    expect(slice.text).toBe('# two\nb: 2\n');
    expect(withSlice(file, slice, 'b: 9')).toBe('# top\na: 1\n---\nb: 9\n---\nc: 3\n');
  });

  it('keeps the line endings of the file', () => {
    const windows = file.replaceAll('\n', '\r\n');
    const slice = sliceAt(windows, 7)!;
    expect(withSlice(windows, slice, 'c: 4\n')).toBe(windows.replace('c: 3', 'c: 4'));
  });
});

describe('a patch', () => {
  it('is empty for equal texts', () => {
    expect(patchOf('a', 'x\n', 'x\n')).toBe('');
  });

  it('marks a text without a line break at its end', () => {
    expect(patchOf('a.yaml', 'x', 'y\n')).toBe(
      'diff --git a/a.yaml b/a.yaml\n--- a/a.yaml\n+++ b/a.yaml\n@@ -1,1 +1,1 @@\n-x\n\\ No newline at end of file\n+y\n',
    );
  });

  it('writes names as git does', () => {
    expect(patchOf('a b/"c".yaml', 'x\n', 'y\n')).toContain('--- "a/a b/\\"c\\".yaml"\n');
    expect(patchOf('a b.yaml', 'x\n', 'y\n')).toContain('--- a/a b.yaml\t\n');
  });

  it('replaces the whole of a file that differs everywhere', () => {
    const lines = (word: string) =>
      Array.from({ length: 3_000 }, (_, at) => `${word}${at}\n`).join('');
    const patch = patchOf('a', lines('x'), lines('y'));
    expect(patch).toContain('@@ -1,3000 +1,3000 @@');
  });
});
