/** Splits a SQL file into statements, with regard to comments and quotes. */
/*
 * Written here because SQL parsers on npm accept less than MariaDB and MySQL do, and the text must reach the
 * server unchanged.
 */

export interface SqlStatement {
  /** Without the closing semicolon; includes comments within the statement. */
  readonly text: string;
  /** 1-based line of its first word. */
  readonly line: number;
}

/** A quote or comment without an end. `line` is the line where it starts, 1-based. */
export class UnterminatedSql extends Error {
  override name = 'UnterminatedSql';
  readonly line: number;

  constructor(opening: string, line: number) {
    super(`${opening} on line ${line} is never closed`);
    this.line = line;
  }
}

/**
 * Splits at each semicolon outside quotes and comments. Pieces without a statement (blank, or
 * comments only) are omitted. Recognises the forms of the server: `-- ` and `#` to the end of the line,
 * `/* *\/`, quotes doubled or escaped by a backslash, backticks, and the executable comment `/*!`.
 */
export function splitStatements(sql: string): SqlStatement[] {
  const statements: SqlStatement[] = [];
  let start = -1;
  let at = 0;
  const finish = (end: number): void => {
    if (start !== -1) {
      statements.push({ text: sql.slice(start, end).trimEnd(), line: lineAt(sql, start) });
    }
    start = -1;
  };
  while (at < sql.length) {
    const next = skipSpaceOrComment(sql, at);
    if (next > at) {
      at = next;
    } else if (sql[at] === ';') {
      finish(at);
      at += 1;
    } else {
      if (start === -1) start = at;
      at = skipToken(sql, at);
    }
  }
  finish(sql.length);
  return statements;
}

/** Index after the white space or comment at `at`; `at` itself when there is neither. */
function skipSpaceOrComment(sql: string, at: number): number {
  if (/\s/.test(sql[at]!)) return at + 1;
  if (sql[at] === '#' || /^--(\s|$)/.test(sql.slice(at, at + 3))) {
    const end = sql.indexOf('\n', at);
    return end === -1 ? sql.length : end + 1;
  }
  if (sql.startsWith('/*', at) && sql[at + 2] !== '!') return endOfBlock(sql, at);
  return at;
}

/** Index after one quoted text, one executable comment, or one character. */
function skipToken(sql: string, at: number): number {
  if (sql.startsWith('/*', at)) return endOfBlock(sql, at);
  const quote = sql[at]!;
  if (quote !== "'" && quote !== '"' && quote !== '`') return at + 1;
  for (let end = at + 1; end < sql.length; end += 1) {
    if (sql[end] === '\\' && quote !== '`') end += 1;
    else if (sql[end] === quote && sql[end + 1] === quote) end += 1;
    else if (sql[end] === quote) return end + 1;
  }
  throw new UnterminatedSql(`the quote ${quote}`, lineAt(sql, at));
}

function endOfBlock(sql: string, at: number): number {
  const end = sql.indexOf('*/', at + 2);
  if (end === -1) throw new UnterminatedSql('the comment /*', lineAt(sql, at));
  return end + 2;
}

function lineAt(sql: string, at: number): number {
  return sql.slice(0, at).split('\n').length;
}
