/** Formats a plan and its outcome as text for a terminal. */
import { type Colour, coloured, oneLine } from '../../terminal-text.ts';
import type { AppliedItem, ApplyReport } from '../apply/apply.ts';
import type { Impact } from '../plan/impact.ts';
import type { PlannedChange } from '../plan/plan-model.ts';
import { placeText } from '../resources/resource-set.ts';
import { type Baseline, baselineLines } from './baseline.ts';
import { blockedText, changeNotes } from './change-notes.ts';
import { type FieldLine, fieldLines } from './field-lines.ts';
import { faultLines } from './held-faults.ts';
import { impactText } from './impact-text.ts';
import { leftLines } from './left-alone.ts';
import { type ReportableCycle, summaryLine, symbols } from './summary.ts';

const colours: Record<PlannedChange['action'], Colour> = {
  create: 'green',
  update: 'yellow',
  replace: 'magenta',
  delete: 'red',
  adopt: 'cyan',
  retain: 'cyan',
  rotate: 'yellow',
};

/**
 * Formats the outcome of a cycle with colour marks, ending in a newline; '' lines separate
 * sections. Every differing value has a line. `wide` also lists the changes of the baseline.
 */
export function textReport(result: ReportableCycle, { wide = false } = {}): string {
  return [...textParts(result, { wide })].join('');
}

/**
 * Yields {@link textReport} in parts of whole lines, because the complete text needs more memory
 * than the plan.
 */
export function* textParts(result: ReportableCycle, { wide = false } = {}): Generator<string> {
  const { plan, report, baseline } = result;
  for (const change of plan.changes) {
    yield paragraph(changeLines(change, result.impacts?.get(change.id)));
  }
  const sections: string[][] = [
    plan.blocked.map((item) => coloured('red', `! blocked ${blockedText(item)}`)),
    faultLines(plan).map((line) => coloured('red', line)),
    result.warnings.map((warning) => coloured('yellow', `warning: ${warning}`)),
    report === null ? [] : outcomeLines(report),
    result.refusal === null ? [] : [coloured('red', result.refusal.message)],
    wide ? comparedLines(`by ${baseline?.ref} as well`, baseline?.already) : [],
    wide ? comparedLines(`by ${baseline?.ref}, and no more`, baseline?.undone) : [],
    [summaryLine(result), ...baselineLines(baseline), ...leftLines(plan)],
  ];
  let separator = plan.changes.length === 0 ? '' : '\n';
  for (const lines of sections) {
    if (lines.length === 0) continue;
    yield separator + paragraph(lines);
    separator = '\n';
  }
}

function paragraph(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}

function comparedLines(heading: string, changes: Baseline['already'] = []): string[] {
  if (changes.length === 0) return [];
  return [`${oneLine(heading)}:`, ...changes.flatMap((change) => changeLines(change, undefined))];
}

function changeLines(change: PlannedChange, impact: Impact | undefined): string[] {
  const { action, id } = change;
  const head = coloured(colours[action], `${symbols[action]} ${action} ${oneLine(id)}`);
  const notes = changeNotes(change).map(oneLine).join(', ');
  const isWhole = change.loosens && !change.fields.some((field) => field.loosens);
  const reach = impact === undefined ? [] : [coloured('dim', oneLine(impactText(impact)))];
  return [
    [head, ...(notes === '' ? [] : [coloured('dim', notes)]), ...mark(isWhole)].join('  '),
    ...[...reach, ...fieldLines(change).map(fieldText)].map((line) => `    ${line}`),
  ];
}

function fieldText(line: FieldLine): string {
  const { notes, loosens } = line;
  const noteTexts = notes.length === 0 ? [] : [coloured('dim', `(${notes.join(', ')})`)];
  return [lineText(line), ...noteTexts, ...mark(loosens)].join('  ');
}

function lineText({ path, from, to, isRecord }: FieldLine): string {
  if (isRecord) return `= ${path}: ${to}`;
  if (from === null) return `+ ${path}: ${to}`;
  if (to === null) return `- ${path}: ${from}`;
  return `~ ${path}: ${from} → ${to}`;
}

function mark(loosens: boolean): string[] {
  return loosens ? [coloured('red', '! loosens')] : [];
}

function outcomeLines(report: ApplyReport): string[] {
  const lines = report.items
    .filter((item) => item.status !== 'done')
    .map((item) => coloured('red', `${item.status}: ${itemText(item)}`));
  return report.unreachable === null ? lines : [...lines, coloured('red', report.unreachable)];
}

function itemText({ position, action, id, message }: AppliedItem): string {
  const place = position === null ? '' : `${oneLine(placeText(position))}: `;
  return `${place}${action} ${oneLine(id)}: ${message}`;
}
