/** Checks that a migration file is split exactly where the server would split it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitStatements, UnterminatedSql } from '../../../src/store/migrations/sql-statements.ts';

const texts = (sql: string): string[] => splitStatements(sql).map(({ text }) => text);

describe('splitStatements', () => {
  it.each([
    ['two statements', 'SELECT 1; SELECT 2', ['SELECT 1', 'SELECT 2']],
    ['a last semicolon', 'SELECT 1;\n', ['SELECT 1']],
    ['nothing', ' \n ;; -- only this\n# and this\n/* ; */ ;', []],
    [
      'a semicolon in quotes',
      `SELECT ';', ";", \`;\`; SELECT 2`,
      [`SELECT ';', ";", \`;\``, 'SELECT 2'],
    ],
    ['a doubled quote', `SELECT 'it''s; fine'; SELECT 2`, [`SELECT 'it''s; fine'`, 'SELECT 2']],
    ['an escaped quote', `SELECT 'it\\'s; fine'; SELECT 2`, [`SELECT 'it\\'s; fine'`, 'SELECT 2']],
    ['a backslash in backticks', 'SELECT 1 AS `\\`; SELECT 2', ['SELECT 1 AS `\\`', 'SELECT 2']],
    [
      'a line comment',
      'SELECT 1 -- no; end\n + 1; SELECT 2',
      ['SELECT 1 -- no; end\n + 1', 'SELECT 2'],
    ],
    ['a quote in a comment', "-- don't\nSELECT 1; # can't\nSELECT 2", ['SELECT 1', 'SELECT 2']],
    ['two minuses that are no comment', 'SELECT 1--1; SELECT 2', ['SELECT 1--1', 'SELECT 2']],
    [
      'an executable comment',
      '/*!40101 SELECT 1; */; SELECT 2',
      ['/*!40101 SELECT 1; */', 'SELECT 2'],
    ],
  ])('recognises %s', (_, sql, expected) => {
    expect(texts(sql)).toEqual(expected);
  });

  it('states the line on which each statement begins, without leading comments', () => {
    const sql = "-- heading\n\nSELECT 1;\n/* two\nlines */ SELECT 'a\nb';\nSELECT 3";
    expect(splitStatements(sql).map(({ line }) => line)).toEqual([3, 5, 7]);
  });

  it.each([
    ["SELECT 1;\nSELECT 'open", 2],
    ['/* never closed', 1],
    ['SELECT `a', 1],
  ])('rejects %j, naming the line where it opens', (sql, line) => {
    expect(() => splitStatements(sql)).toThrow(UnterminatedSql);
    expect(() => splitStatements(sql)).toThrow(new RegExp(`line ${line} `));
  });

  it('splits any joined statements again, whatever quotes and comments they contain', () => {
    const quoted = fc
      .string()
      .map((text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`);
    const remark = fc
      .string()
      .map((text) => `/*${text.replaceAll('*/', '').replace(/^!|\*$/g, '')} */`);
    const statement = fc
      .array(fc.oneof(quoted, remark, fc.constant('+ 1'), fc.constant('"x;"')))
      .map((parts) => ['SELECT', ...parts, '1'].join(' '));
    fc.assert(
      fc.property(fc.array(statement), (statements) => {
        expect(texts(statements.join(' ;\n'))).toEqual(statements);
      }),
    );
  });
});
