/** Generates one reference page for each manifest kind, from the schemas that validate manifests. */
import { type KindName, kindNames, kinds } from '../../src/model/kinds/kinds.ts';
import { type Explanation, explain } from '../../src/sync/authoring/explain.ts';
import type { JsonSchema } from '../../src/sync/authoring/json-schema.ts';
import { kindSchema } from '../../src/sync/authoring/manifest-schema.ts';
import { newManifest } from '../../src/sync/authoring/new-manifest.ts';
import { code, escapeText, table } from './markdown.ts';

/** Levels of a routing document nest without end; the page describes the first. */
const repeated = /(?:^|\.)targets\.(?:.*\.)?targets$/;

export interface GeneratedPage {
  /** Path below the root of the site, without an extension: `reference/kinds/apikey`. */
  readonly path: string;
  readonly title: string;
  readonly markdown: string;
}

export async function manifestPages(): Promise<GeneratedPage[]> {
  const pages: GeneratedPage[] = [];
  for (const kind of kindNames) pages.push(await pageOf(kind));
  return pages;
}

async function pageOf(kind: KindName): Promise<GeneratedPage> {
  const schema = await kindSchema(kind);
  const { meaning } = explain(kind, schema, []);
  const { workspaced } = kinds[kind];
  const places = {
    none: 'Belongs to no workspace.',
    required: 'Belongs to a workspace: `metadata.workspace` is required.',
    optional: 'May belong to a workspace: `metadata.workspace`.',
  };
  const spec = rowsBelow(kind, schema, ['spec'], explain(kind, schema, ['spec']));
  const metadata = rowsBelow(kind, schema, ['metadata'], explain(kind, schema, ['metadata']));
  const lines = [
    `${escapeText(meaning)} ${places[workspaced]}`,
    '',
    `The rules for every kind are in [Manifests](../../manifests/). ${code(`gatewright explain ${kind}`)} prints the same facts.`,
    '',
    '## Example',
    '',
    'The smallest manifest that is valid, with what it refers to:',
    '',
    '```yaml',
    newManifest(kind, { name: undefined, workspace: undefined, alone: false }).trimEnd(),
    '```',
    '',
    '## Fields of spec',
    '',
    ...table(head, spec),
    ...(spec.length === 0 ? ['The spec has no fields.', ''] : []),
    '## Metadata',
    '',
    ...table(head, metadata),
  ];
  return {
    path: `reference/kinds/${kind.toLowerCase()}`,
    title: kind,
    markdown: lines.join('\n'),
  };
}

const head = ['field', 'type', 'meaning'];

/** A row for every field below `path`, each followed by the fields below it. */
function rowsBelow(
  kind: KindName,
  schema: JsonSchema,
  path: readonly string[],
  { fields }: Explanation,
): string[][] {
  const rows: string[][] = [];
  for (const { name } of fields) {
    const field = [...path, name];
    const below = explain(kind, schema, field);
    rows.push(rowOf(field.slice(1).join('.'), below));
    const isOpen = below.fields.length > 0 && !repeated.test(field.join('.'));
    if (isOpen) rows.push(...rowsBelow(kind, schema, field, below));
  }
  return rows;
}

function rowOf(name: string, given: Explanation): string[] {
  const { meaning, type, bounds, required, alternatives, change, secret } = given;
  const notes = [
    meaning,
    alternatives.length > 1 ? `Exactly one of ${alternatives.map(code).join(', ')}.` : '',
    given.default === null ? '' : `Default: ${code(JSON.stringify(given.default))}.`,
    change === 'replaces the resource' ? 'Another value replaces the resource.' : '',
    secret ? 'A secret: never printed.' : '',
  ];
  const types = [type, bounds].filter((text) => text !== null).join('; ');
  return [
    `${code(name)}${required ? ' (required)' : ''}`,
    escapeText(types),
    notes.filter(Boolean).map(escapeText).join(' '),
  ];
}
