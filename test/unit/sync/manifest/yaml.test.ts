/** Tests the YAML reader: YAML 1.2 core, exact positions, bounded work. */
import fc from 'fast-check';
import { dump, loadAll } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { readDocuments } from '../../../../src/sync/yaml/yaml-document.ts';
import { locate, type YamlText } from '../../../../src/sync/yaml/yaml-position.ts';

function read(text: string | Buffer) {
  return readDocuments({ path: 'a.yaml', content: Buffer.from(text) }, () => false);
}

function valuesOf(text: string): unknown[] {
  const { documents, faults } = read(text);
  expect(faults).toEqual([]);
  return documents.map(({ value }) => value);
}

/** `line:column code` */
function faultsOf(text: string | Buffer): string[] {
  return read(text).faults.map(
    ({ position: { line, column }, code }) => `${line}:${column} ${code}`,
  );
}

describe('scalars', () => {
  it.each([
    ['no', 'no'],
    ['on', 'on'],
    ['Yes', 'Yes'],
    ['012', 12],
    ['0o17', 15],
    ['0x1F', 31],
    ['1e3', 1000],
    ['1_000', '1_000'],
    ['0b11', '0b11'],
    ['12:30:45', '12:30:45'],
    ['2027-03-31', '2027-03-31'],
    ['2027-03-31T00:00:00Z', '2027-03-31T00:00:00Z'],
    ['~', null],
    ['null', null],
    ['True', true],
    ['.inf', Number.POSITIVE_INFINITY],
    ['"123"', '123'],
    ["'true'", 'true'],
    ['1.5.2', '1.5.2'],
    ['+12', 12],
    ['<<', '<<'],
  ])('parses %s as %j', (text, value) => expect(valuesOf(`a: ${text}`)).toEqual([{ a: value }]));

  it('parses any scalar like a second parser', () => {
    const word = fc.string({
      unit: fc.constantFrom(...'0123456789abcdefxXoOeE+-._:tTrRuUnNlLyYsSiIfF~ '),
      maxLength: 12,
    });
    fc.assert(
      fc.property(word, (scalar) => {
        const text = `a: ${scalar}\n`;
        const [other] = parseAllDocuments(text, { merge: false });
        if (other === undefined || !('errors' in other) || other.errors.length > 0) return;
        const { documents, faults } = read(text);
        if (faults.length > 0) return;
        const expected: unknown = other.toJS();
        const { a: number } = { ...(expected as { a?: unknown }) };
        // A number beyond the range stays text here, so that the schema rejects it with its
        // position.
        const overflown = Math.abs(Number(number)) === Infinity && !/inf/i.test(scalar);
        expect(documents[0]?.value).toEqual(overflown ? { a: scalar.trim() } : expected);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('documents', () => {
  it('separates documents, and skips empty ones', () => {
    expect(valuesOf('a: 1\n---\n# nothing\n---\nb: 2\n...\n---\n- c\n')).toEqual([
      { a: 1 },
      { b: 2 },
      ['c'],
    ]);
    expect(valuesOf('')).toEqual([]);
    expect(valuesOf('# only a comment\n')).toEqual([]);
  });

  it('yields the same values as the library for any document', () => {
    const key = fc.constantFrom('a', 'toString', '__proto__', 'constructor', '1', 'null', '');
    // Merge keys are rejected, and the library treats a key of that name as one.
    const json = fc.jsonValue().filter((each) => !JSON.stringify(each).includes('"<<":'));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ depthSize: 'small' }, json, tie('map'), tie('list')),
      map: fc.dictionary(key, tie('value'), { maxKeys: 4 }),
      list: fc.array(tie('value'), { maxLength: 4 }),
    }));
    const options = fc.record({ indent: fc.constantFrom(2, 4), flowLevel: fc.integer({ max: 3 }) });
    fc.assert(
      fc.property(fc.array(value, { maxLength: 3 }), options, (values, style) => {
        const text = values.map((each) => dump(each, style)).join('---\n');
        const expected = loadAll(text).filter((each) => each !== null);
        expect(valuesOf(text)).toEqual(expected);
      }),
      { numRuns: 1000 },
    );
    expect(valuesOf('1: a\n0x10: b\n~: c\n"d": !!str 1\n')).toEqual([
      { 1: 'a', 16: 'b', null: 'c', d: '1' },
    ]);
  });

  it('accepts JSON indented with tabs', () => {
    expect(valuesOf('{\n\t"a": [1, "\\u00e9", null],\n\t"b": {}\n}\n')).toEqual([
      { a: [1, 'é', null], b: {} },
    ]);
  });

  it('accepts a byte order mark and Windows line ends', () => {
    const text = '\uFEFFa: 1\r\nb:\r\n  c: 2\r\n';
    expect(valuesOf(text)).toEqual([{ a: 1, b: { c: 2 } }]);
    const [document] = read(text).documents;
    expect(locate(document!.source, 0, ['b', 'c'])).toEqual({ file: 'a.yaml', line: 3, column: 6 });
  });
});

describe('faults', () => {
  it.each([
    ['a: &x 1\nb: *x\n', ['1:4 anchor', '2:4 anchor']],
    ['base: &b {x: 1}\nc:\n  <<: *b\n', ['1:7 anchor', '3:3 merge-key', '3:7 anchor']],
    ['a: !secret x\n', ['1:4 tag']],
    ['a: !!js/function "x"\n', ['1:4 tag']],
    ['%TAG ! tag:example.com,2000:\n---\na: 1\n', ['1:1 directive']],
    ['? [a]\n: 1\n', ['1:3 complex-key']],
    ['a: 1\nb: 2\na: 3\nb: 4\n', ['3:1 duplicate-key', '4:1 duplicate-key']],
    ['a: {b: 1, "b": 2}\n', ['1:11 duplicate-key']],
    ['a:\n\t- b\n', ['2:1 yaml-syntax']],
    ['a: b: c\n', ['1:5 yaml-syntax']],
    ['a: [1\n', ['1:6 yaml-syntax']],
    ['a: "x\n', ['1:6 yaml-syntax']],
    ['a: 1\u0000\n', ['1:5 yaml-syntax']],
  ])('reports %j with its position', (text, faults) => expect(faultsOf(text)).toEqual(faults));

  it('reports faults of each document, and keeps the valid documents', () => {
    const { documents, faults } = read('a: b: c\n---\ngood: 1\n---\nd: &x 1\n');
    expect(documents.map(({ value, position }) => [value, position.line])).toEqual([
      [{ good: 1 }, 3],
    ]);
    expect(faults.map(({ position, code }) => [position.line, code])).toEqual([
      [1, 'yaml-syntax'],
      [5, 'anchor'],
    ]);
  });

  it('reports the line of the first invalid byte', () => {
    expect(faultsOf(Buffer.from('a: 1\nb: \xff\n', 'latin1'))).toEqual(['2:4 encoding']);
    expect(faultsOf(Buffer.from('\ufeffa: 1\n', 'utf16le'))).toEqual(['1:1 encoding']);
  });
});

describe('limits', () => {
  const mapOf = (keys: number): string =>
    Array.from({ length: keys }, (_, at) => `k${at}: 1\n`).join('');

  it('limits the keys of one map', () => {
    expect(faultsOf(mapOf(2000))).toEqual([]);
    expect(faultsOf(mapOf(2001))).toEqual(['2001:1 too-many-keys']);
    expect(faultsOf(mapOf(20_000))).toEqual(['2001:1 too-many-keys']);
  });

  it('limits the depth', () => {
    expect(faultsOf('['.repeat(99) + ']'.repeat(99))).toEqual([]);
    expect(faultsOf('['.repeat(100_000))[0]).toContain('yaml-syntax');
  });

  it('limits alias bombs, which are never expanded', () => {
    const bomb = Array.from({ length: 40 }, (_, at) =>
      at === 0 ? 'a0: &a0 [x, x]' : `a${at}: &a${at} [*a${at - 1}, *a${at - 1}]`,
    );
    expect(faultsOf(bomb.join('\n')).every((fault) => fault.endsWith(' anchor'))).toBe(true);
  });

  it('limits the faults of a file with broken documents', () => {
    const { faults } = read('a: b: c\n---\n'.repeat(20_000));
    expect(faults.length).toBeLessThanOrEqual(20);
  });
});

it('never throws, and always reports a position, for any bytes', () => {
  const fragment = fc.constantFrom(
    'a',
    ': ',
    '- ',
    '? ',
    '---\n',
    '...\n',
    '\n',
    '  ',
    '\t',
    '"',
    "'",
    '|\n',
    '>-\n',
    '{',
    '}',
    '[',
    ']',
    ', ',
    '&a ',
    '*a',
    '!t ',
    '!!str ',
    '%YAML 1.2\n',
    '#',
    '<<: ',
    '\u0000',
    '\ufeff',
    '\r',
    '\u2028',
    '🚀',
    '__proto__: ',
    '~',
    '1',
    '.nan',
    '@',
    '`',
    '\\',
  );
  fc.assert(
    fc.property(fc.array(fragment, { maxLength: 40 }), (fragments) => {
      const { documents, faults } = read(fragments.join(''));
      for (const { position } of [...documents, ...faults]) {
        expect(position.line).toBeGreaterThan(0);
        expect(position.column).toBeGreaterThan(0);
      }
      for (const { source, index } of documents) locate(source, index, ['a', '0', 'b']);
    }),
    { numRuns: 3000 },
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      read(Buffer.from(bytes));
    }),
  );
});

describe('positions', () => {
  const text = `# top
a:
  - b: 1
    "c d": {e: [x, 'y', 2]}
  -
    f: |
      text
g:
`;
  const source: YamlText = { path: 'p.yaml', text, linesAbove: 0 };

  it.each([
    [[], '2:1', '2:1'],
    [['a'], '2:1', '3:3'],
    [['a', '0', 'b'], '3:5', '3:8'],
    [['a', '0', 'c d'], '4:5', '4:12'],
    [['a', '0', 'c d', 'e', '1'], '4:20', '4:20'],
    [['a', '1', 'f'], '6:5', '6:5'],
    [['g'], '8:1', '8:1'],
    [['a', '7'], '2:1', '2:1'],
    [['nothing', 'below'], '2:1', '2:1'],
  ])('locates %j at its key and value', (segments, key, value) => {
    const at = (part: 'key' | 'value'): string => {
      const { line, column } = locate(source, 0, segments, part);
      return `${line}:${column}`;
    };
    expect([at('key'), at('value')]).toEqual([key, value]);
  });
});
