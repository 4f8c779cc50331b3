/** Formats a plan as a comment on a pull request: the summary first, the differences folded. */
import { oneLine } from '../../terminal-text.ts';
import type { Impact, Impacts } from '../plan/impact.ts';
import type { PlannedChange } from '../plan/plan-model.ts';
import { baselineLines } from './baseline.ts';
import { blockedText, changeNotes } from './change-notes.ts';
import { type FieldLine, fieldLines } from './field-lines.ts';
import { faultLines } from './held-faults.ts';
import { impactText } from './impact-text.ts';
import { leftLines } from './left-alone.ts';
import { type ReportableCycle, summaryLine } from './summary.ts';

/** GitHub allows 65,536 characters; this many bytes leave room for additions. */
const bytesMax = 60_000;
/** Limit of the blocked items and warnings. */
const noteBytesMax = 12_000;
/** Limit of one change, so that it does not displace all others. */
const changeBytesMax = 16_000;
/** Size of headings and fences. */
const frameBytes = 4_000;
const lineLengthMax = 800;

/**
 * At most 60 kB. Everything from manifests or the server is inside code blocks, where it is not
 * interpreted as Markdown, HTML or a mention.
 */
export function markdownReport(result: ReportableCycle): string {
  const { plan, refusal, warnings } = result;
  const notes = fitting(
    [
      ...baselineLines(result.baseline),
      ...(refusal === null ? [] : [`refused: ${refusal.message}`]),
      ...faultLines(plan),
      ...plan.blocked.map((item) => `blocked ${blockedText(item)}`),
      ...warnings.map((warning) => `warning: ${warning}`),
      ...leftLines(plan),
    ].flatMap((text) => text.split('\n').map((line) => clipped(oneLine(line)))),
    noteBytesMax,
    (count) => `… and ${count} more`,
  );
  const { lines, hidden } = fittingChanges(plan.changes, result.impacts);
  const loose = plan.changes.filter(({ loosens }) => loosens).length;
  return [
    `### gatewright: ${summaryLine(result)}`,
    '',
    ...(loose === 0 ? [] : [`**${loose} of these loosen access**, marked \`! loosens\`.`, '']),
    ...(hidden.length === 0 ? [] : [`**${hiddenText(hidden, plan.changes.length)}**`, '']),
    ...(notes.length === 0 ? [] : [...fenced('text', notes), '']),
    ...(lines.length === 0
      ? []
      : [
          '<details><summary>Changes</summary>',
          '',
          ...fenced('diff', lines),
          '',
          '</details>',
          '',
        ]),
  ].join('\n');
}

function hiddenText(hidden: readonly PlannedChange[], total: number): string {
  const loose = hidden.filter(({ loosens }) => loosens).length;
  const among = loose === 0 ? '' : `, of which ${loose} loosen access`;
  return `${hidden.length} of ${total} changes are not shown here${among}; \`gatewright plan\` shows all.`;
}

/** In plan order; when not everything fits, deletions and loosening changes come first. */
function fittingChanges(
  changes: readonly PlannedChange[],
  impacts: Impacts | undefined,
): {
  lines: string[];
  hidden: PlannedChange[];
} {
  let room = bytesMax - noteBytesMax - frameBytes;
  const blocks = new Map<PlannedChange, string[]>();
  const urgent = ({ loosens, action }: PlannedChange): boolean =>
    loosens || action === 'replace' || action === 'delete';
  const inRank = [...changes.filter(urgent), ...changes.filter((change) => !urgent(change))];
  for (const change of inRank) {
    const lines = changeLines(change, impacts?.get(change.id));
    const block = fitting(lines, Math.min(changeBytesMax, room), hiddenLines);
    const size = bytesOf(block);
    if (size > room || block[0] !== lines[0]) break;
    blocks.set(change, block);
    room -= size;
  }
  return {
    lines: changes.flatMap((change) => blocks.get(change) ?? []),
    hidden: changes.filter((change) => !blocks.has(change)),
  };
}

function hiddenLines(count: number): string {
  return `  … ${count} more lines of this change`;
}

/** Formats a change like a hunk of a unified diff: a header, then removed and added lines. */
function changeLines(change: PlannedChange, impact: Impact | undefined): string[] {
  const isWhole = change.loosens && !change.fields.some((field) => field.loosens);
  const notes = changeNotes(change).join(', ');
  const head = `@@ ${change.action} ${change.id} @@ ${notes}${isWhole ? '  ! loosens' : ''}`;
  const reach = impact === undefined ? [] : [`  ${impactText(impact)}`];
  const all = [head.trimEnd(), ...reach, ...fieldLines(change).flatMap(hunkLines)];
  return all.map((line) => clipped(oneLine(line)));
}

function hunkLines({ path, from, to, isRecord, notes, loosens }: FieldLine): string[] {
  const noteTexts = notes.length === 0 ? [] : [`(${notes.join(', ')})`];
  const tail = [...noteTexts, ...(loosens ? ['! loosens'] : [])]
    .map((text) => `  ${text}`)
    .join('');
  if (isRecord) return [`  ${path}: ${to}${tail}`];
  const gone = from === null ? [] : [`- ${path}: ${from}`];
  const come = to === null ? [] : [`+ ${path}: ${to}`];
  return [...gone, ...come].map((line, at, all) => (at === all.length - 1 ? line + tail : line));
}

/** Returns the first lines that fit, and a line with the number of omitted ones. */
function fitting(
  lines: readonly string[],
  bytes: number,
  leftOut: (count: number) => string,
): string[] {
  if (bytesOf(lines) <= bytes) return [...lines];
  const tailBytes = bytesOf([leftOut(lines.length)]);
  let size = 0;
  const count = lines.findIndex((line) => {
    size += bytesOf([line]);
    return size > bytes - tailBytes;
  });
  return [...lines.slice(0, count), leftOut(lines.length - count)];
}

function bytesOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
}

/** Cuts out the middle of a long line: the path is at its start, the value at its end. */
function clipped(line: string): string {
  if (line.length <= lineLengthMax) return line;
  const half = lineLengthMax / 2;
  return `${line.slice(0, half)} … ${line.slice(-half)}`.toWellFormed();
}

/**
 * Uses a fence longer than any run of backticks in the text, so that nothing in it closes the
 * block.
 */
function fenced(language: string, lines: readonly string[]): string[] {
  const longest = Math.max(2, ...lines.flatMap((line) => runsOf(line)));
  const fence = '`'.repeat(longest + 1);
  return [`${fence}${language}`, ...lines, fence];
}

function runsOf(line: string): number[] {
  return (line.match(/`+/g) ?? []).map(({ length }) => length);
}
