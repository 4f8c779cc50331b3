/** Lists the mutants of source files with StrykerJS, and names each of them without line numbers. */
import { readFileSync } from 'node:fs';
import { Instrumenter } from '@stryker-mutator/instrumenter';

/** A small change of the code that tests should notice. */
export interface Mutant extends PlacedMutant {
  readonly original: string;
  /** The declaration of the file's outermost level that contains the change; empty outside of one. */
  readonly within: string;
  /** The text of the line on which the change starts, without its indentation. */
  readonly lineText: string;
}

export interface PlacedMutant {
  /** `src/sync/plan/order.ts`. */
  readonly file: string;
  readonly span: Span;
  /** Name of the kind of change: `ConditionalExpression`. */
  readonly mutator: string;
  readonly replacement: string;
}

/** Lines count from 1, columns from 0. The end is exclusive. */
interface Span {
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
}

const textMax = 120;
const declaration =
  /^(?:export )?(?:default )?(?:abstract )?(?:async )?(?:function\*?|class|const|let) (\w+)/;
const silent = () => {};
const silentLogger = {
  isTraceEnabled: () => false,
  isDebugEnabled: () => false,
  isInfoEnabled: () => false,
  isWarnEnabled: () => false,
  isErrorEnabled: () => false,
  isFatalEnabled: () => false,
  trace: silent,
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
  fatal: silent,
};

/** Lists all mutants in the order of files and places. */
export async function listMutants(files: readonly string[]): Promise<Mutant[]> {
  const sources = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));
  const instrumenter = new Instrumenter(silentLogger);
  const { mutants } = await instrumenter.instrument(
    [...sources].map(([name, content]) => ({ name, content, mutate: true })),
    { plugins: null, excludedMutations: [], ignorers: [] },
  );
  const lines = new Map([...sources].map(([file, source]) => [file, source.split('\n')]));
  return mutants.map(({ fileName, location: { start, end }, mutatorName, replacement }) =>
    describeMutant(lines.get(fileName)!, {
      file: fileName,
      span: {
        line: start.line + 1,
        column: start.column,
        endLine: end.line + 1,
        endColumn: end.column,
      },
      mutator: mutatorName,
      replacement,
    }),
  );
}

function describeMutant(lines: readonly string[], mutant: PlacedMutant): Mutant {
  const { line, column, endLine, endColumn } = mutant.span;
  const covered = lines.slice(line - 1, endLine);
  covered[covered.length - 1] = covered.at(-1)!.slice(0, endColumn);
  covered[0] = covered[0]!.slice(column);
  const above = lines.slice(0, line).findLast((text) => /^[^\s})\]/*]/.test(text));
  return {
    ...mutant,
    original: covered.join('\n'),
    within: above?.match(declaration)?.[1] ?? '',
    lineText: lines[line - 1]!.trim(),
  };
}

/** Identifies a mutant in the processes of one run. */
export function placeOf({ file, span, mutator, replacement }: PlacedMutant): string {
  const { line, column, endLine, endColumn } = span;
  return `${file}:${line}:${column}-${endLine}:${endColumn} ${mutator} ${replacement}`;
}

/** `ConditionalExpression: a > b => true`, on one line. */
export function changeOf({ mutator, original, replacement }: Mutant): string {
  return `${mutator}: ${brief(original)} => ${brief(replacement)}`;
}

function brief(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > textMax ? `${line.slice(0, textMax)}…` : line;
}
