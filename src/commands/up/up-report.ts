/** Prints the progress and the report of `up`. */
import type { Ending, Failure } from '../../failure.ts';
import type { MigrationReport } from '../../store/migrations/migrate.ts';
import type { CycleResult } from '../../sync/cycle/cycle-options.ts';
import { leftAloneLines } from '../../sync/report/left-alone.ts';
import { countsByKind, summaryLine } from '../../sync/report/summary.ts';
import { textReport } from '../../sync/report/text.ts';
import { oneLine } from '../../terminal-text.ts';
import { exitCodes } from '../shared/exit-codes.ts';
import { formatTable } from '../shared/table.ts';
import type { TextOutput } from '../shared/text-output.ts';
import { cycleDocument } from '../sources/cycle-document.ts';
import { type ConsoleReport, consoleText } from './up-console.ts';
import type { UpAddresses } from './up-start.ts';

/** Result of a start; contains no secret but a link that signs in once. */
export interface StartReport {
  readonly version: string;
  readonly home: string;
  /** The source as the user named it. */
  readonly source: string;
  readonly migration: MigrationReport;
  /** Whether the database is the embedded one. */
  readonly embedded: boolean;
  readonly addresses: UpAddresses;
  /** Null when the console is off. */
  readonly console: ConsoleReport | null;
  readonly credentialsPath: string;
  /** Null when logs go to standard error. */
  readonly logPath: string | null;
  /** Commands to try. */
  readonly next: readonly string[];
  /** Result of the first sync. */
  readonly outcome: SyncOutcome;
}

export type SyncOutcome =
  | { readonly result: CycleResult; readonly failure: null }
  | { readonly result: null; readonly failure: Failure };

export function endingOf({ result, failure }: SyncOutcome): Ending {
  return failure === null ? result.ending : failure.kind;
}

/** Prints one line for each step with the seconds since the start. */
export function createProgress(output: Pick<TextOutput, 'write'>): (line: string) => void {
  const startedAt = performance.now();
  return (line) => {
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    output.write(`${seconds.padStart(6)} s  ${oneLine(line)}\n`);
  };
}

export function startText(report: StartReport): string {
  const { outcome, addresses, migration, console: consoleReport } = report;
  const { adminUrl, inferenceUrl, mcpUrl, metricsUrl } = addresses;
  const sections = [
    syncText(outcome),
    formatTable([
      ...(consoleReport === null ? [] : [['console', consoleText(consoleReport)]]),
      ['database', `${migration.databaseVersion}${report.embedded ? ', embedded' : ''}`],
      ['migrations', migrationsText(migration)],
      ['admin API', `${adminUrl}/v2 (also ${adminUrl}/v1; ${adminUrl}/openapi.json)`],
      ['inference', `${inferenceUrl}/v1`],
      ...(mcpUrl === null ? [] : [['MCP', `${mcpUrl}/{server}/mcp`]]),
      ['tokens', `${adminUrl}/oauth2/access_token`],
      ['metrics', `${metricsUrl}/metrics`],
      ['credentials', `${report.credentialsPath} (mode 0600)`],
      ...(report.logPath === null ? [] : [['log', report.logPath]]),
    ]),
    `try next\n${report.next.map((line) => `  ${line}\n`).join('')}`,
  ];
  return `\n${sections.join('\n')}`;
}

/** The one JSON document of `-o json`. */
export function startDocument(report: StartReport): Record<string, unknown> {
  const { outcome, migration } = report;
  return {
    version: report.version,
    home: report.home,
    source: report.source,
    database: {
      version: migration.databaseVersion,
      embedded: report.embedded,
      schemaVersion: migration.schemaVersion,
      migrationsRun: migration.applied,
    },
    addresses: { ...report.addresses, consoleUrl: report.console?.url ?? null },
    credentialsFile: report.credentialsPath,
    sync:
      outcome.failure === null
        ? { ...cycleDocument(outcome.result), counts: countsByKind(outcome.result) }
        : { failure: outcome.failure.message },
    next: report.next,
    exitCode: exitCodes[endingOf(outcome)],
  };
}

function syncText({ result, failure }: SyncOutcome): string {
  if (failure !== null) return `nothing was synced: ${failure.message}\n`;
  const counts = countsByKind(result);
  const isClean = endingOf({ result, failure }) === 'success' && result.warnings.length === 0;
  const summary = [summaryLine(result), ...leftAloneLines(result.plan.leftAlone)];
  const detail = isClean ? `${summary.join('\n')}\n` : textReport(unfinishedPart(result));
  if (counts.length === 0) return detail;
  const columns = ['created', 'changed', 'deleted', 'undone'] as const;
  const used = columns.filter((column) => counts.some((row) => row[column] > 0));
  const table = formatTable([
    ['kind', ...used],
    ...counts.map((row) => [row.kind, ...used.map((column) => String(row[column]))]),
  ]);
  return `${table}\n${detail}`;
}

/** Reduces a result to what was not done; the table of the start shows the rest. */
function unfinishedPart(result: CycleResult): CycleResult {
  const { plan, report } = result;
  if (report === null) return result;
  const undone = new Set(
    report.items.filter(({ status }) => status !== 'done').map(({ id }) => id),
  );
  return { ...result, plan: { ...plan, changes: plan.changes.filter(({ id }) => undone.has(id)) } };
}

function migrationsText({ applied, schemaVersion }: MigrationReport): string {
  const run = applied.length === 0 ? 'none needed' : `${applied.length} run`;
  return `${run}, schema ${schemaVersion}`;
}
