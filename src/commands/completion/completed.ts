/** Knows what there is to complete behind a command: its options, the words that they take, files. */
import type { Option } from '../shared/option.ts';

/** What the scripts are made of. */
export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly options: Readonly<Record<string, Option<unknown>>>;
}

/** What may stand in a place: one of some words, several with commas, a file, a folder, anything. */
export type Taken =
  | { readonly form: 'words' | 'list'; readonly words: readonly string[] }
  | { readonly form: 'file' | 'folder' | 'any' };

export interface CompletedOption {
  /** `--output` */
  readonly name: string;
  /** `-o` */
  readonly letter: string | undefined;
  readonly describe: string;
  /** Of the value that follows; null for a switch. */
  readonly value: Taken | null;
}

/** The named options of a command, and help. */
export function optionsOf({ options }: CompletedCommand): CompletedOption[] {
  const named = Object.entries(options).filter(([, { form }]) => !form.startsWith('word'));
  return [
    ...named.map(([name, option]) => ({
      name: `--${name}`,
      letter: option.letter === undefined ? undefined : `-${option.letter}`,
      describe: option.describe,
      value: option.form === 'switch' ? null : takenBy(option),
    })),
    { name: '--help', letter: '-h', describe: 'Show this help', value: null },
  ];
}

export interface CompletedWord {
  readonly name: string;
  readonly takes: Taken;
  /** Whether any number of them may follow. */
  readonly isRepeated: boolean;
}

/** The words that stand alone, in their order. */
export function wordsOf({ options }: CompletedCommand): CompletedWord[] {
  return Object.entries(options)
    .filter(([, { form }]) => form.startsWith('word'))
    .map(([name, option]) => ({
      name,
      takes: takenBy(option, name),
      isRepeated: option.form === 'words',
    }));
}

function takenBy({ words, isList, placeholder }: Option<unknown>, name = ''): Taken {
  if (words !== undefined) return { form: isList ? 'list' : 'words', words };
  if (placeholder === 'DIR') return { form: 'folder' };
  return { form: placeholder === 'FILE' || name.startsWith('path') ? 'file' : 'any' };
}
