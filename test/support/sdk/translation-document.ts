/** Writes the tables of docs/reference/translation.md from the rules of the translations. */
import type {
  FormatRules,
  MemberRule,
  ObjectShape,
} from '../../../src/upstream/documents/member-rules.ts';

/** The section of one direction, with a table for each shape. */
export function rulesSection(rules: FormatRules): string {
  const shapes = rules.shapes.map(shapeTable);
  return `## From ${rules.from} to ${rules.to}\n\n${shapes.join('\n')}`;
}

function shapeTable({ name, kinds }: ObjectShape): string {
  const rows = Object.entries(kinds).flatMap(([kind, rules]) =>
    rules instanceof Map
      ? [...rules].map(([member, rule]) => row(kind, `\`${member}\``, rule))
      : [row(kind, 'all', rules as MemberRule)],
  );
  const title = `### ${name[0]!.toUpperCase()}${name.slice(1)}`;
  return `${title}\n\n| kind | member | treatment | counterpart or reason |\n|---|---|---|---|\n${rows.join('')}`;
}

function row(kind: string, member: string, { treatment, note, usual }: MemberRule): string {
  const kinds = kind === '' ? '' : kind.split('|').map((one) => `\`${one}\``);
  const unless =
    usual.length === 0
      ? ''
      : `no effect: ${usual.map((one) => `\`${JSON.stringify(one)}\``).join(', ')}`;
  const text = [note, unless].filter((one) => one !== '').join('; ');
  const cells = [[kinds].flat().join(', '), member, treatment, text];
  return `| ${cells.map((one) => one.replaceAll('|', '\\|')).join(' | ')} |\n`.replaceAll(
    '  ',
    ' ',
  );
}
