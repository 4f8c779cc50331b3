/** Tests templates: Mustache syntax, positions of errors, and bounded cost. */
import fc from 'fast-check';
import Mustache from 'mustache';
import { describe, expect, it } from 'vitest';
import { parseTemplate } from '../../../src/model/prompts/template-parser.ts';
import { TemplateRenderer } from '../../../src/model/prompts/template-renderer.ts';

const noPartials = (name: string): string => {
  throw new Error(`no partial ${name}`);
};

function fill(text: string, variables: unknown, partials = noPartials): string {
  return new TemplateRenderer(variables, partials).fill(parseTemplate(text).nodes);
}

const names = fc.constantFrom('a', 'b', 'c');
const words = fc.constantFrom('x', ' ', '\n', '<&"', ' y\n', '{ }', '}');
const leaf = fc.oneof(
  words,
  names.map((name) => `{{${name}}}`),
  names.map((name) => `{{{ ${name} }}}`),
  names.map((name) => `{{& ${name}}}`),
  fc.constantFrom('{{.}}', '{{! a remark }}', '{{>p}}\n', '\n  {{> p }}\n'),
);
const { template } = fc.letrec<{ template: string; section: string }>((tie) => ({
  section: fc
    .tuple(names, fc.constantFrom('#', '^'), tie('template'))
    .map(([name, mark, inner]) => `{{${mark}${name}}}${inner}{{/${name}}}`),
  template: fc
    .array(fc.oneof({ depthSize: 'small' }, leaf, tie('section')), { maxLength: 6 })
    .map((parts) => parts.join('')),
}));
const scalar = fc.constantFrom('', 'text', '<b>', 0, 7, true, false, null);
const value = fc.oneof(
  scalar,
  // The reference fails on null in a list.
  fc.array(
    scalar.filter((one) => one !== null),
    { maxLength: 3 },
  ),
  fc.dictionary(names, scalar, { noNullPrototype: true }),
);
const variables = fc.dictionary(names, value, { noNullPrototype: true });

const partial = 'one {{a}}\n';

/** The reference implementation, with JSON for values other than text and without escaping. */
class Reference extends Mustache.Writer {
  override unescapedValue(token: string[], context: Mustache.Context): string {
    return asText(context.lookup(token[1]!));
  }

  override escapedValue(token: string[], context: Mustache.Context): string {
    return this.unescapedValue(token, context);
  }
}

function asText(one: unknown): string {
  if (typeof one === 'string') return one;
  return one === null || one === undefined ? '' : JSON.stringify(one);
}

it('renders what the reference implementation of Mustache renders', () => {
  fc.assert(
    fc.property(template, variables, (text, view) => {
      const expected = new Reference().render(text, view, { p: partial });
      expect(fill(text, view, () => partial)).toBe(expected);
    }),
    { numRuns: 1_000 },
  );
});

describe('values', () => {
  it('writes values other than text as JSON, and missing values as nothing', () => {
    const view = { list: [1, { a: 2 }], map: { b: null }, no: false };
    expect(fill('{{list}} {{map}} {{no}} {{map.b}} {{none}}.', view)).toBe(
      '[1,{"a":2}] {"b":null} false  .',
    );
  });

  it('looks a path up in the innermost scope that has its first name', () => {
    const view = { a: { b: 1 }, list: [{ a: {} }, {}] };
    expect(fill('{{#list}}<{{a.b}}>{{/list}}', view)).toBe('<><1>');
  });

  it('resolves own members only', () => {
    const view = { list: [1], text: 'abc' };
    const text = '{{constructor}}{{__proto__}}{{toString}}{{list.map}}{{text.length}}';
    expect(fill(text, view)).toBe('');
    expect(fill('{{#constructor}}x{{/constructor}}', view)).toBe('');
  });
});

it.each([
  ['{{name', 'The tag at 0 is not closed'],
  ['a{{{b}}', 'The tag at 1 is not closed'],
  ['{{}}', 'The tag at 0 has no name'],
  ['{{#}}{{/}}', 'The tag at 0 has no name'],
  ['{{#a}}', 'Section a at 0 is not closed'],
  ['{{/a}}', 'Section a is closed at 0, but no section is open'],
  ['{{#a}}{{/b}}', 'Section b is closed at 6, but a must be closed first'],
  ['{{=<% %>=}}', 'The tag at 0 changes the delimiters'],
  ['{{#a}}'.repeat(33), 'The section at 192 is nested deeper than 32 levels'],
])('rejects %s with its position', (text, message) => {
  expect(() => parseTemplate(text)).toThrow(message);
});

describe('the bounds of rendering', () => {
  const many = Array.from({ length: 1000 }, () => 1);
  const slow = 'The template takes too long to render';
  it.each([
    ['sections in sections', '{{#a}}{{#a}}{{#a}}x{{/a}}{{/a}}{{/a}}', { a: many }, slow],
    ['long names', `{{#a}}{{m.${'m.'.repeat(300)}m}}{{/a}}`, { a: many, m: {} }, slow],
    ['a section of many', '{{#a}}{{b}}{{/a}}', { a: Array(300_000).fill(1) }, slow],
    [
      'long values',
      '{{#a}}{{b}}{{/a}}',
      { a: many, b: 'x'.repeat(10_000) },
      'The rendered template exceeds 4194304 characters',
    ],
    [
      'a partial within itself',
      '{{>p}}',
      {},
      'Sections and partials are nested deeper than 32 levels',
    ],
  ])('%s', (_, text, view, message) => {
    expect(() => fill(text, view, () => '{{>p}}')).toThrow(message);
  });

  it('reads a partial once, however often it is included', () => {
    const long = `${'x'.repeat(1000)}{{! }}`;
    const filled = fill('{{#a}}{{>p}}{{/a}}', { a: many }, () => long);
    expect(filled).toHaveLength(1_000_000);
  });
});
