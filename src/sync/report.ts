/** Knows how a plan and its outcome are told: as text for people, Markdown for reviews, JSON for programs. */
import { type Colour, coloured, forTerminal, oneLine, printable } from '../terminal-text.ts';
import type { AppliedItem, ApplyReport } from './apply/apply.ts';
import { leftAloneLines, unknownLines, unmanagedLines } from './left-alone.ts';
import type { FieldChange } from './plan/diff.ts';
import { describeSource } from './plan/ownership.ts';
import type { BlockedItem, Plan, PlannedChange } from './plan/planned.ts';
import type { CycleResult } from './reconcile.ts';
import type { Json, Position } from './spec/resource-set.ts';
import { isReference } from './spec/spec-paths.ts';

const symbols: Record<PlannedChange['action'], string> = {
  create: '+',
  update: '~',
  replace: '±',
  delete: '-',
  adopt: '>',
  retain: '=',
};
const colours: Record<PlannedChange['action'], Colour> = {
  create: 'green',
  update: 'yellow',
  replace: 'magenta',
  delete: 'red',
  adopt: 'cyan',
  retain: 'cyan',
};
const valueLengthMax = 160;

/** The parts of a cycle that are told to people. */
export type Reportable = Pick<CycleResult, 'plan' | 'report' | 'declined' | 'refusal' | 'warnings'>;

/**
 * The whole outcome of a cycle as text with marks of colours, ending in a newline; '' lines apart its
 * sections.
 */
export function textReport(result: Reportable): string {
  const { plan, report } = result;
  const sections: string[][] = [
    plan.changes.flatMap((change) => changeLines(change)),
    plan.blocked.map((item) => coloured('red', `! ${blockedLine(item)}`)),
    result.warnings.map((warning) => coloured('yellow', `warning: ${warning}`)),
    report === null ? [] : outcomeLines(report),
    result.refusal === null ? [] : [coloured('red', result.refusal.message)],
    [
      summaryLine(result),
      ...unmanagedLines(plan.unmanaged),
      ...unknownLines(plan.unknown),
      ...leftAloneLines(plan.leftAlone),
    ],
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n');
}

/** `Plan: 2 to create, 1 to delete; 5 unchanged, 3 unmanaged left alone.` */
export function summaryLine({
  plan,
  report,
  declined,
}: Pick<CycleResult, 'plan' | 'report' | 'declined'>): string {
  const rest = [
    `${plan.unchanged} unchanged`,
    ...(plan.blocked.length > 0 ? [`${plan.blocked.length} blocked`] : []),
    ...(plan.unmanaged.length > 0 ? [`${plan.unmanaged.length} unmanaged left alone`] : []),
  ].join(', ');
  if (report === null) {
    const parts = counted(plan.changes.map(({ action }) => action)).map(
      ([action, count]) => `${count} to ${action}`,
    );
    const verdict = parts.length === 0 ? 'no changes' : parts.join(', ');
    return `${declined ? 'Nothing was applied' : 'Plan'}: ${verdict}; ${rest}.`;
  }
  const done = report.items.filter((item) => item.status === 'done');
  const parts = counted(done.map(({ action }) => action)).map(
    ([action, count]) => `${count} ${participles[action]}`,
  );
  const undone = counted(
    report.items.filter(({ status }) => status !== 'done').map((i) => i.status),
  );
  parts.push(...undone.map(([status, count]) => `${count} ${status}`));
  const ending = report.interrupted ? ' Interrupted: run it again to finish.' : '';
  return `Applied: ${parts.join(', ')}; ${rest}.${ending}`;
}

const participles: Record<PlannedChange['action'], string> = {
  create: 'created',
  update: 'updated',
  replace: 'replaced',
  delete: 'deleted',
  adopt: 'adopted',
  retain: 'retained',
};

function changeLines(change: PlannedChange): string[] {
  const { action, id, reason, live } = change;
  const notes = [
    ...(reason === 'change'
      ? []
      : [reason === 'rename' ? `rename from ${live!.declared}` : reason]),
    ...(action === 'adopt' ? ['takes ownership'] : []),
    ...(action === 'retain' ? ['left the source, stays on the server'] : []),
    ...(change.prune ? [`left the source${lastPlace(change)}`] : []),
    ...(change.position === null ? [] : [placeText(change.position)]),
  ];
  const head = coloured(colours[action], `${symbols[action]} ${action} ${oneLine(id)}`);
  return [
    `${head}  ${coloured('dim', notes.map(oneLine).join(', '))}`.trimEnd(),
    ...change.fields.map((field) => `    ${fieldText(action, field)}`),
  ];
}

function fieldText(action: PlannedChange['action'], field: FieldChange): string {
  const path = oneLine(field.path);
  const from = valueText(field.from);
  const to = valueText(field.to);
  if (action === 'create') return `${path}: ${to}`;
  const note = field.reason === 'change' ? '' : ` (${field.reason})`;
  if (field.secret && from === to) return `${path}: ${to} has another value${note}`;
  return from === to ? `${path}: ${to}, already so, recorded` : `${path}: ${from} → ${to}${note}`;
}

function valueText(value: Json): string {
  if (value === null) return '(unset)';
  if (isReference(value)) return `→ ${oneLine(value.$ref)}`;
  const text =
    typeof value === 'string' && value.startsWith('(secret') ? value : JSON.stringify(value);
  const short = text.length > valueLengthMax ? `${text.slice(0, valueLengthMax)}…` : text;
  return oneLine(short);
}

function lastPlace({ live }: PlannedChange): string {
  return live?.source == null ? '' : `, last in ${describeSource(live.source)}`;
}

function blockedLine({ id, position, message }: BlockedItem): string {
  const place = position === null ? '' : ` (${placeText(position)})`;
  return `blocked ${oneLine(id)}${place}: ${printable(message)}`;
}

function outcomeLines(report: ApplyReport): string[] {
  const lines = report.items
    .filter((item) => item.status !== 'done')
    .map((item) => coloured('red', `${item.status}: ${itemText(item)}`));
  return report.unreachable === null ? lines : [...lines, coloured('red', report.unreachable)];
}

function itemText({ position, action, id, message }: AppliedItem): string {
  const place = position === null ? '' : `${placeText(position)}: `;
  return `${place}${action} ${oneLine(id)}: ${message}`;
}

function placeText({ file, line, column }: Position): string {
  return `${oneLine(file)}:${line}:${column}`;
}

/** How often each word occurs; actions in the order of the table above. */
function counted<T extends string>(words: readonly T[]): [T, number][] {
  const rank = (word: T): number => Object.keys(symbols).indexOf(word);
  return [...Map.groupBy(words, (word) => word)]
    .map(([word, all]): [T, number] => [word, all.length])
    .toSorted(([one], [two]) => rank(one) - rank(two));
}

/** For a comment on a pull request: the summary first, the diff folded away. */
export function markdownReport(result: Reportable): string {
  const { plan } = result;
  const diff = forTerminal(textReport({ ...result, warnings: [] }), { color: false }).trimEnd();
  const longest = Math.max(2, ...(diff.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  const notes = [
    ...plan.blocked.map(
      (item) => `- **blocked** ${inline(blockedLine(item).slice('blocked '.length))}`,
    ),
    ...result.warnings.map((warning) => `- **warning** ${inline(printable(warning))}`),
  ];
  return [
    `### gatewright: ${summaryLine(result)}`,
    '',
    ...(notes.length === 0 ? [] : [...notes, '']),
    ...(plan.changes.length === 0
      ? []
      : [
          '<details><summary>Changes</summary>',
          '',
          `${fence}diff`,
          diff,
          fence,
          '',
          '</details>',
          '',
        ]),
  ].join('\n');
}

function inline(text: string): string {
  return text.replace(/[\\`*_<>|[\]]/g, (character) => `\\${character}`).replaceAll('\n', ' ');
}

/** The published plan document (docs/sync.md, Plan); holds no secret value. */
export function planDocument(plan: Plan, warnings: readonly string[]): Record<string, unknown> {
  return {
    formatVersion: 1,
    engine: 'gatewright',
    owner: plan.owner,
    source: { repo: plan.source.repo, sha: plan.source.revision, digest: plan.source.digest },
    base: { snapshotEtag: plan.etag },
    summary: {
      ...Object.fromEntries(Object.keys(symbols).map((action) => [action, 0])),
      ...Object.fromEntries(counted(plan.changes.map(({ action }) => action))),
      noop: plan.unchanged,
      blocked: plan.blocked.length,
    },
    changes: plan.changes.map((change) => ({
      id: change.id,
      action: change.action,
      kind: change.identity.kind,
      workspace: change.identity.workspace,
      name: change.identity.name,
      resourceId: change.live?.id ?? null,
      ifMatch: change.live?.version ?? null,
      dependsOn: change.dependsOn,
      reason: change.reason,
      fields: change.fields,
      position: change.position,
    })),
    blocked: plan.blocked.map(({ id, identity, reason, message, position }) => ({
      ...{ id, ...identity, reason, message, position },
    })),
    unmanaged: plan.unmanaged,
    unknown: plan.unknown,
    leftAlone: plan.leftAlone,
    warnings,
  };
}

/** What an apply did, for `--report` and `-o json`. */
export function resultDocument(result: CycleResult): Record<string, unknown> {
  const { report, refusal } = result;
  return {
    ...planDocument(result.plan, result.warnings),
    refusal: refusal?.message ?? null,
    keyFiles: result.keyFiles,
    result:
      report === null
        ? null
        : {
            items: report.items,
            interrupted: report.interrupted,
            unreachable: report.unreachable,
          },
    exitCode: result.ending,
  };
}

export interface KindCounts {
  readonly kind: string;
  readonly created: number;
  /** Updated, replaced or adopted. */
  readonly changed: number;
  readonly deleted: number;
  /** Failed, stale or blocked. */
  readonly undone: number;
}

/** What a cycle did, a row for each kind it touched. */
export function countsByKind({ plan, report }: Pick<CycleResult, 'plan' | 'report'>): KindCounts[] {
  const rows = new Map<string, KindCounts>();
  const add = (kind: string, field: Exclude<keyof KindCounts, 'kind'>): void => {
    const row = rows.get(kind) ?? { kind, created: 0, changed: 0, deleted: 0, undone: 0 };
    rows.set(kind, { ...row, [field]: row[field] + 1 });
  };
  for (const { kind, status, action } of report?.items ?? []) {
    if (status !== 'done') add(kind, 'undone');
    else if (action === 'create') add(kind, 'created');
    else add(kind, action === 'delete' ? 'deleted' : 'changed');
  }
  for (const { identity } of plan.blocked) add(identity.kind, 'undone');
  return [...rows.values()];
}
