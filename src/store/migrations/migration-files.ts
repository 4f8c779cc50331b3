/** Reads the migration files of this build: their order, statements and checksums. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../../failure.ts';
import { packageRoot } from '../../package-root.ts';
import { type SqlStatement, splitStatements, UnterminatedSql } from './sql-statements.ts';

export interface Migration {
  /** File name without `.sql`; the order of migrations is the order of their names. */
  readonly name: string;
  readonly path: string;
  /** SHA-256 in hex of the text with `\n` line endings, so that a checkout setting cannot change it. */
  readonly checksum: string;
  /** The file starts with `-- breaking`: older builds must not run on the resulting schema. */
  readonly breaking: boolean;
  /** Parsed on first access; throws a Failure with the line when a statement is not allowed. */
  readonly statements: readonly SqlStatement[];
}

const fileNamePattern = /^\d{4}_[a-z0-9_]+\.sql$/;

/**
 * Allowed first words of a statement. SET, USE and transaction control are missing, because a resumed run
 * starts between any two statements in a new session.
 */
const firstWords = [
  'CREATE',
  'ALTER',
  'DROP',
  'RENAME',
  'TRUNCATE',
  'INSERT',
  'REPLACE',
  'UPDATE',
  'DELETE',
];

/** Reads `migrations/vschema.json`, which describes the tables of the package to Vitess, as JSON text. */
export function readVschema(): string {
  return readFileSync(join(packageRoot(), 'migrations/vschema.json'), 'utf8');
}

/** Reads the migrations of `directory`, by default those of the package, in order. */
export function readMigrations(directory = join(packageRoot(), 'migrations')): Migration[] {
  const names = readdirSync(directory)
    .filter((name) => name.endsWith('.sql'))
    .sort();
  for (const name of names) {
    if (!fileNamePattern.test(name)) {
      throw new Failure(
        'invalidInput',
        `${join(directory, name)}: a migration is named 0001_lower_case.sql`,
      );
    }
  }
  return names.map((name) => readMigration(join(directory, name), name));
}

function readMigration(path: string, fileName: string): Migration {
  const text = readFileSync(path, 'utf8').replaceAll('\r\n', '\n');
  let statements: readonly SqlStatement[] | undefined;
  return {
    name: fileName.slice(0, -'.sql'.length),
    path,
    checksum: sha256(text),
    breaking: /^-- breaking\s*$/.test(text.split('\n', 1)[0]!),
    get statements() {
      statements ??= readStatements(path, text);
      return statements;
    },
  };
}

function readStatements(path: string, text: string): SqlStatement[] {
  try {
    const statements = splitStatements(text);
    if (statements.length === 0) {
      throw new Failure('invalidInput', `${path}: a migration needs a statement`);
    }
    for (const statement of statements) {
      if (!firstWords.includes(firstWord(statement))) {
        throw new Failure(
          'invalidInput',
          `${path}:${statement.line}: a migration may not hold ${firstWord(statement)}; ` +
            `it can begin with ${firstWords.join(', ')}`,
        );
      }
    }
    return statements;
  } catch (error) {
    if (!(error instanceof UnterminatedSql)) throw error;
    throw new Failure('invalidInput', `${path}:${error.line}: ${error.message}`, {
      cause: error,
    });
  }
}

/** In upper case; the first 20 characters when the statement does not start with a word. */
function firstWord(statement: SqlStatement): string {
  return (/^[a-z]+/i.exec(statement.text)?.[0] ?? statement.text.slice(0, 20)).toUpperCase();
}

/** Whether the statement can share a transaction with its record; definitions commit by themselves. */
export function changesRowsOnly(statement: SqlStatement): boolean {
  return ['INSERT', 'REPLACE', 'UPDATE', 'DELETE'].includes(firstWord(statement));
}

/** Digest in hex of the first `count` statements; detects edits to statements that have run. */
export function checksumOfFirst(migration: Migration, count: number): string {
  return sha256(
    JSON.stringify(migration.statements.slice(0, count).map((statement) => statement.text)),
  );
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
