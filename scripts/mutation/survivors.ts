/** Compares the mutants that survived a run with the list of those whose survival has a reason. */

/** A changed piece of code that no test noticed. */
export interface Survivor {
  /** `src/sync/plan/order.ts`. */
  readonly file: string;
  /** The replaced code and its replacement, without line numbers, which other changes move. */
  readonly mutant: string;
}

export interface ExplainedSurvivor extends Survivor {
  readonly reason: string;
}

/** A report in the schema of mutation testing elements. */
export interface MutationReport {
  readonly files: Readonly<
    Record<string, { readonly source: string; readonly mutants: readonly ReportedMutant[] }>
  >;
}

interface ReportedMutant {
  readonly mutatorName: string;
  readonly replacement?: string;
  readonly status: string;
  readonly location: { readonly start: Place; readonly end: Place };
}

/** Both counted from 1. */
interface Place {
  readonly line: number;
  readonly column: number;
}

const textMax = 80;
const undetected = ['Survived', 'NoCoverage'];
const detected = ['Killed', 'Timeout'];

/** Lists the undetected mutants of a report in order. */
function survivorsOf({ files }: MutationReport): Survivor[] {
  return Object.entries(files).flatMap(([file, { source, mutants }]) =>
    mutants
      .filter(({ status }) => undetected.includes(status))
      .map((mutant) => ({ file, mutant: describeMutant(mutant, source) })),
  );
}

/** The share of detected mutants from 0 to 100, by folder and in all; ignored and invalid ones do not count. */
export function scoresOf({ files }: MutationReport): ReadonlyMap<string, number> {
  const counts = new Map<string, { killed: number; all: number }>();
  for (const [file, { mutants }] of Object.entries(files)) {
    for (const name of [file.slice(0, file.lastIndexOf('/')), 'all']) {
      const count = counts.get(name) ?? { killed: 0, all: 0 };
      counts.set(name, count);
      for (const { status } of mutants) {
        if (detected.includes(status)) count.killed += 1;
        if (detected.includes(status) || undetected.includes(status)) count.all += 1;
      }
    }
  }
  return new Map(
    [...counts].map(([name, { killed, all }]) => [name, all === 0 ? 100 : (100 * killed) / all]),
  );
}

/**
 * Returns survivors that the list does not explain, and explanations of mutants that a report on their file does
 * not contain any more.
 */
export function compareSurvivors(
  report: MutationReport,
  explained: readonly ExplainedSurvivor[],
): { readonly unexplained: Survivor[]; readonly outdated: ExplainedSurvivor[] } {
  const found = survivorsOf(report);
  const keyOf = ({ file, mutant }: Survivor) => `${file} ${mutant}`;
  const known = new Set(explained.map(keyOf));
  const current = new Set(found.map(keyOf));
  return {
    unexplained: found.filter((one) => !known.has(keyOf(one))),
    outdated: explained.filter((one) => one.file in report.files && !current.has(keyOf(one))),
  };
}

function describeMutant(
  { mutatorName, replacement = '', location }: ReportedMutant,
  source: string,
) {
  const { start, end } = location;
  const lines = source.split('\n').slice(start.line - 1, end.line);
  const last = lines.length - 1;
  lines[last] = lines[last]!.slice(0, end.column - 1);
  lines[0] = lines[0]!.slice(start.column - 1);
  const brief = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, textMax);
  return `${mutatorName}: ${brief(lines.join('\n'))} => ${brief(replacement)}`;
}
