/** Knows how the help of a command reads. */
import type { Option } from './option.ts';

const columnsMax = 100;
const gap = 2;

type Options = Readonly<Record<string, Option<unknown>>>;

/** What of a command its help tells. */
export interface Helped {
  readonly summary: string;
  readonly examples: readonly (readonly [string, string])[];
  readonly options: Options;
}

/** `plan [paths..]` */
export function usageOf(name: string, options: Options): string {
  const alone = Object.entries(options).flatMap(([word, { form, isRequired }]) => {
    if (form === 'words') return [`[${word}..]`];
    if (form === 'word') return [isRequired ? `<${word}>` : `[${word}]`];
    return [];
  });
  return [name, ...alone].join(' ');
}

export function helpText(name: string, { summary, examples, options }: Helped): string {
  const rows = Object.entries(options).map(([option, facts]) => [option, facts] as const);
  const isAlone = ([, { form }]: (typeof rows)[number]): boolean => form.startsWith('word');
  const alone = rows.filter(isAlone).map(([word, facts]) => [word, describe(facts)] as const);
  const named = rows
    .filter((row) => !isAlone(row))
    .map(([option, facts]) => [optionForm(option, facts), describe(facts)] as const);
  return [
    `gatewright ${usageOf(name, options)}${named.length > 0 ? ' [options]' : ''}\n`,
    `${summary}\n`,
    ...(alone.length > 0 ? [section('Words', alone)] : []),
    section('Options', [...named, ['-h, --help', 'Show this help'] as const]),
    `Examples:\n${examples.map(([line, does]) => `  ${line}\n      ${does}\n`).join('')}`,
  ].join('\n');
}

function optionForm(name: string, { letter, placeholder }: Option<unknown>): string {
  const short = letter === undefined ? '    ' : `-${letter}, `;
  return `${short}--${name}${placeholder === '' ? '' : ` ${placeholder}`}`;
}

function describe({ describe: text, fallback }: Option<unknown>): string {
  return fallback === undefined ? text : `${text} (default: ${fallback})`;
}

function section(title: string, rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length)) + gap;
  const lines = rows.map(([left, right]) => {
    const wrapped = wrap(right, columnsMax - gap - width);
    return `  ${left.padEnd(width)}${wrapped.join(`\n${' '.repeat(gap + width)}`)}\n`;
  });
  return `${title}:\n${lines.join('')}`;
}

function wrap(text: string, columns: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1)!;
    if (last === '') lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length <= columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
