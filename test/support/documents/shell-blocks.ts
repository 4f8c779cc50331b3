/** Reads the shell blocks of documents as commands with their words. */

export interface DocumentCommand {
  /** Line of the document, 1-based, on which the command begins. */
  readonly line: number;
  /** Words without quotes, without leading assignments of variables. */
  readonly words: readonly string[];
}

interface ShellBlock {
  readonly line: number;
  readonly text: string;
}

export function shellBlocksOf(document: string): ShellBlock[] {
  return [...document.matchAll(/^( *)```sh\n([\s\S]*?)^ *```$/gm)].map((match) => ({
    line: document.slice(0, match.index).split('\n').length + 1,
    text: match[2]!,
  }));
}

/** Every simple command of a block: lists and pipes are split; redirections are left out. */
export function commandsOf({ line, text }: ShellBlock): DocumentCommand[] {
  const commands: DocumentCommand[] = [];
  let at = line;
  for (const whole of text.split(/(?<!\\)\n/)) {
    for (const words of simpleCommands(whole.replaceAll(/\\\n\s*/g, ' '))) {
      const start = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word));
      if (start >= 0) commands.push({ line: at, words: words.slice(start) });
    }
    at += whole.split('\n').length;
  }
  return commands;
}

/** A word of quoted and unquoted parts, an operator, or a comment. */
const token =
  /\s+|#.*$|(&&|\|\||[|;&]|\d?>>?|<)|((?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|\$\([^)]*\)|[^\s|;&<>'"\\])+)/gy;

function simpleCommands(line: string): string[][] {
  const commands: string[][] = [[]];
  let isRedirected = false;
  token.lastIndex = 0;
  for (const [, operator, word] of line.matchAll(token)) {
    if (operator !== undefined && /[<>]/.test(operator)) isRedirected = true;
    else if (operator !== undefined) commands.push([]);
    else if (word !== undefined && isRedirected) isRedirected = false;
    else if (word !== undefined) commands.at(-1)!.push(withoutQuotes(word));
  }
  return commands.filter((words) => words.length > 0);
}

function withoutQuotes(word: string): string {
  return word.replaceAll(
    /'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/g,
    (_, single?: string, double?: string, escaped?: string) =>
      single ?? double?.replaceAll(/\\(["\\$`])/g, '$1') ?? escaped ?? '',
  );
}
