/** Reads from the declarations of an SDK which members an object of a request, a response or an event has. */
import { resolve } from 'node:path';
import { API, type Checker, type Type, type Symbol as TypeSymbol } from 'typescript/unstable/sync';

const root = resolve(import.meta.dirname, '../../..');

/** An object type at one place of a document. */
export interface SdkObject {
  /** Path without indexes: `messages[].content[]`; '' for the document. */
  readonly path: string;
  /** Value of the member that distinguishes the objects of a union; null for none. */
  readonly kind: string | null;
  readonly members: readonly string[];
}

/** Whether the walk continues with the value of a member. */
type Descend = (object: SdkObject, member: string) => boolean;

/** Declarations of installed packages; slow to open, so each test file opens it once. */
export class SdkTypes implements Disposable {
  readonly #api = new API({ cwd: root });
  readonly #project;

  constructor() {
    const configPath = resolve(root, 'tsconfig.json');
    this.#project = this.#api
      .updateSnapshot({ openProjects: [configPath] })
      .getProject(configPath)!;
  }

  [Symbol.dispose](): void {
    this.#api.close();
  }

  /** Lists the objects of an exported type of a package; `descend` decides about the value of each member. */
  objectsOf(file: string, typeName: string, descend: Descend): SdkObject[] {
    const { checker, program } = this.#project;
    const source = program.getSourceFile(resolve(root, 'node_modules', file));
    if (source === undefined) throw new Error(`${file} is not part of the project`);
    const exported = checker.getSymbolAtLocation(source)!.getExports();
    const symbol = [...exported.values()].find(({ name }) => name === typeName);
    if (symbol === undefined) throw new Error(`${file} exports no ${typeName}`);
    return new Walk(checker, descend).from(checker.getDeclaredTypeOfSymbol(symbol));
  }
}

class Walk {
  readonly #checker: Checker;
  readonly #descend: Descend;
  readonly #found: SdkObject[] = [];

  constructor(checker: Checker, descend: Descend) {
    this.#checker = checker;
    this.#descend = descend;
  }

  from(type: Type): SdkObject[] {
    this.#visit(type, '', new Set());
    return this.#found;
  }

  #visit(type: Type, path: string, above: ReadonlySet<number>): void {
    if (type.isUnionType()) {
      for (const one of type.getTypes()) this.#visit(one, path, above);
      return;
    }
    if (!type.isObjectType() || above.has(type.id)) return;
    if (this.#checker.isArrayType(type)) {
      const [item] = this.#checker.getTypeArguments(type as never);
      // A list of any JSON contains itself.
      if (item !== undefined) this.#visit(item, `${path}[]`, new Set([...above, type.id]));
      return;
    }
    const members = this.#checker.getPropertiesOfType(type);
    if (members.length === 0) return;
    const object = { path, kind: this.#kindOf(members), members: members.map(({ name }) => name) };
    this.#found.push(object);
    const inner = new Set([...above, type.id]);
    for (const member of members) {
      if (!this.#descend(object, member.name)) continue;
      const value = this.#checker.getTypeOfSymbol(member);
      const place = path === '' ? member.name : `${path}.${member.name}`;
      if (value !== undefined) this.#visit(value, place, inner);
    }
  }

  /** The literal `type`, or else the literal `role`. */
  #kindOf(members: readonly TypeSymbol[]): string | null {
    for (const name of ['type', 'role']) {
      const member = members.find((one) => one.name === name);
      if (member === undefined) continue;
      const type = this.#checker.getTypeOfSymbol(member);
      const literals = type === undefined ? [] : type.isUnionType() ? type.getTypes() : [type];
      const values = literals.flatMap((one) => (one.isStringLiteralType() ? [one.value] : []));
      if (values.length > 0) return values.toSorted().join('|');
    }
    return null;
  }
}
