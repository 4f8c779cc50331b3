/** Reads the list of mutants that no test can notice, with the reason of each. */
import { readFileSync } from 'node:fs';
import { changeOf, listMutants, type Mutant } from './mutants.ts';

/** Names a mutant without line numbers, so that edits of other lines do not matter. */
export interface ExplainedSurvivor {
  readonly file: string;
  /** The declaration that contains the change; empty outside of one. */
  readonly within: string;
  /** The line on which the change starts, without its indentation. */
  readonly line: string;
  /** `ConditionalExpression: a > b => true`. */
  readonly change: string;
  readonly reason: string;
}

export const survivorsFile = 'scripts/mutation/survivors.json';

export function readSurvivors(): ExplainedSurvivor[] {
  return JSON.parse(readFileSync(survivorsFile, 'utf8')) as ExplainedSurvivor[];
}

export function isExplained(mutant: Mutant, explained: readonly ExplainedSurvivor[]): boolean {
  return explained.some((one) => describes(one, mutant));
}

function describes(one: ExplainedSurvivor, mutant: Mutant): boolean {
  return (
    one.file === mutant.file &&
    one.within === mutant.within &&
    one.line === mutant.lineText &&
    one.change === changeOf(mutant)
  );
}

/** The entry of a survivor, to which a person adds the reason. */
export function entryOf(mutant: Mutant): Omit<ExplainedSurvivor, 'reason'> {
  const { file, within, lineText } = mutant;
  return { file, within, line: lineText, change: changeOf(mutant) };
}

/** Returns the entries that describe no mutant of the present code. */
export async function findStale(
  explained: readonly ExplainedSurvivor[],
  exists: (file: string) => boolean,
): Promise<ExplainedSurvivor[]> {
  const files = [...new Set(explained.map(({ file }) => file))].filter(exists);
  const mutants = await listMutants(files);
  return explained.filter((one) => !mutants.some((mutant) => describes(one, mutant)));
}
