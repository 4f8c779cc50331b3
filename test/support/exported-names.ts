/** Finds the names that the modules of a program export, and which modules import them by name. */
import { dirname, resolve } from 'node:path';
import { parseSync } from 'rolldown/utils';

/** One declaration of an exported name. */
interface ExportedName {
  readonly name: string;
  /** A class is a type, because its name is used as one. */
  readonly isType: boolean;
  readonly file: string;
}

/** A name that one module imports from another by name, also under an alias. */
interface ImportedName {
  readonly name: string;
  readonly from: string;
  readonly file: string;
}

export interface ModuleNames {
  readonly exported: readonly ExportedName[];
  readonly imported: readonly ImportedName[];
}

interface Declaration {
  readonly type: string;
  readonly id?: { readonly name: string } | null;
  readonly declarations?: readonly { readonly id: { readonly name?: string } }[];
}

interface Statement {
  readonly type: string;
  readonly declaration?: Declaration | null;
  readonly source?: { readonly value: string } | null;
  readonly specifiers?: readonly {
    readonly type: string;
    readonly imported?: { readonly name?: string };
  }[];
}

const typeDeclarations = new Set([
  'TSInterfaceDeclaration',
  'TSTypeAliasDeclaration',
  'TSEnumDeclaration',
  'ClassDeclaration',
]);

/**
 * The names of one module. Only names that are declared and exported in one statement count, which is the
 * only form that the project uses. An import of a namespace has no names.
 */
export function namesOf(file: string, source: string): ModuleNames {
  const body = parseSync(file, source).program.body as unknown as readonly Statement[];
  return {
    exported: body.flatMap((statement) => exportedBy(statement, file)),
    imported: body.flatMap((statement) => importedBy(statement, file)),
  };
}

function exportedBy({ type, declaration }: Statement, file: string): ExportedName[] {
  if (type !== 'ExportNamedDeclaration' || declaration == null) return [];
  const isType = typeDeclarations.has(declaration.type);
  const names = declaration.declarations?.map(({ id }) => id.name) ?? [declaration.id?.name];
  return names.flatMap((name) => (name === undefined ? [] : [{ name, isType, file }]));
}

function importedBy({ type, source, specifiers }: Statement, file: string): ImportedName[] {
  if (type !== 'ImportDeclaration' || !source?.value.startsWith('.')) return [];
  const from = resolve(dirname(file), source.value);
  return (specifiers ?? []).flatMap(({ imported }) =>
    imported?.name === undefined ? [] : [{ name: imported.name, from, file }],
  );
}
