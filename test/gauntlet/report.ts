/** Prints what a gauntlet has held and found, and writes it as JSON. */
import { writeFileSync } from 'node:fs';
import type { Injection, Omission } from './faults/fault.ts';
import type { Answer } from './load/answer.ts';
import type { PacedTraffic } from './load/pacer.ts';
import type { Stall } from './load/stalls.ts';
import { unavailableMs } from './load/unavailability.ts';
import type { FaultPlan } from './plan/fault-plan.ts';

export interface Violation {
  readonly line: string;
  /** Since the start of the load; null where it is not known. */
  readonly atMs: readonly [from: number, to: number] | null;
}

export interface Finding {
  readonly invariant: string;
  readonly document: string;
  readonly violations: readonly Violation[];
}

export interface GauntletResult {
  readonly plan: FaultPlan;
  readonly rate: number;
  readonly database: string;
  /** Length of the traffic. */
  readonly tookMs: number;
  readonly traffic: PacedTraffic;
  readonly injections: readonly Injection[];
  readonly stalls: readonly Stall[];
  readonly omissions: readonly Omission[];
  readonly findings: readonly Finding[];
}

interface KindRow {
  readonly kind: string;
  readonly injected: number;
  /** Longest time without any good chat while one was in force; null without an injection. */
  readonly unavailableMs: number | null;
  /** Null when it was injected as planned. */
  readonly notInjected: string | null;
}

/** Violations of one invariant that the table shows; the JSON report has all. */
const printedMax = 5;

/** The report as data: the form of `--report`. */
export function reportOf(result: GauntletResult) {
  const { plan, rate, database, tookMs, traffic, findings, injections, stalls } = result;
  const answered = traffic.answers.filter(({ status }) => status !== 0).length;
  const kinds = kindRows(result);
  return {
    plan,
    rate,
    database: withoutCredentials(database),
    load: {
      seconds: tookMs / 1_000,
      sent: traffic.answers.length,
      omitted: traffic.omitted,
      answered,
      answeredPerSecond: answered / (tookMs / 1_000),
      byStatus: countBy(traffic.answers, ({ load, status }) => `${load} ${status}`),
      errors: traffic.errors,
    },
    faults: {
      injections: injections.length,
      kinds: kinds.filter(({ injected }) => injected > 0).length,
      rows: kinds,
    },
    stalls,
    invariants: findings,
  };
}

/** Reports are shown to others. */
function withoutCredentials(database: string): string {
  if (!URL.canParse(database)) return database;
  const { protocol, host } = new URL(database);
  return `${protocol}//${host}`;
}

export type GauntletReport = ReturnType<typeof reportOf>;

export function writeReport(path: string, report: GauntletReport): void {
  writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`);
}

/** The report as text; its last line is `N passed, N failed` over the invariants. `repeat` is the command for it. */
export function tableOf(
  { load, faults, stalls, invariants, plan }: GauntletReport,
  repeat: string,
): string {
  const failed = invariants.filter(({ violations }) => violations.length > 0);
  return [
    `load: ${load.sent} requests in ${load.seconds.toFixed(0)} s, ${load.answered} answered ` +
      `(${load.answeredPerSecond.toFixed(0)} a second), ${load.omitted} left out`,
    ...Object.entries(load.byStatus).map(([name, count]) => `  ${name.padEnd(24)}${count}`),
    ...load.errors.slice(0, printedMax).map((error) => `  ${error}`),
    '',
    `faults: ${faults.injections} injections of ${faults.kinds} kinds, seed ${plan.seed}`,
    ...faults.rows.map(faultLine),
    stallLine(stalls),
    '',
    'invariants:',
    ...invariants.flatMap(findingLines),
    ...failed.map(
      ({ invariant, violations }) =>
        `failed: ${invariant}: ${violations.length}; repeat it with: ${repeat}`,
    ),
    `${invariants.length - failed.length} passed, ${failed.length} failed`,
  ].join('\n');
}

function stallLine(stalls: readonly Stall[]): string {
  const longestMs = Math.max(0, ...stalls.map(({ fromMs, toMs }) => toMs - fromMs));
  return `machine too busy: ${stalls.length} stalls of the run above 1 s, the longest ${(longestMs / 1_000).toFixed(1)} s`;
}

function faultLine({ kind, injected, unavailableMs, notInjected }: KindRow): string {
  const name = `  ${kind.padEnd(28)}${String(injected).padStart(4)}`;
  if (notInjected !== null) return `${name}  not injected: ${notInjected}`;
  return `${name}  longest without a good chat ${((unavailableMs ?? 0) / 1_000).toFixed(1)} s`;
}

function findingLines({ invariant, violations }: Finding): string[] {
  const rest = violations.length - printedMax;
  return [
    `  ${invariant.padEnd(40)}${violations.length}`,
    ...violations.slice(0, printedMax).map(({ line }) => `    ${line}`),
    ...(rest > 0 ? [`    and ${rest} more`] : []),
  ];
}

function kindRows({ plan, injections, omissions, traffic }: GauntletResult): KindRow[] {
  const kinds = [...new Set(plan.faults.map(({ kind }) => kind))].toSorted();
  return kinds.map((kind) => {
    const mine = injections.filter(({ planned }) => planned.kind === kind);
    const omission = omissions.find(({ planned }) => planned.kind === kind);
    return {
      kind,
      injected: mine.length,
      unavailableMs:
        mine.length === 0
          ? null
          : Math.max(...mine.map((one) => unavailableMs(traffic.answers, one))),
      notInjected: omission?.reason ?? null,
    };
  });
}

function countBy(
  answers: readonly Answer[],
  nameOf: (answer: Answer) => string,
): Record<string, number> {
  const counts = new Map<string, number>();
  for (const answer of answers) {
    const name = nameOf(answer);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return Object.fromEntries([...counts].toSorted(([one], [other]) => one.localeCompare(other)));
}
