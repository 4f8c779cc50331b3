/** Reads the values of the selected environment from `values.yaml` in its folder. */
import { didYouMean } from '../../suggest.ts';
import type { Position } from '../resources/resource-set.ts';
import { metadataKey } from '../sops/sops-leaves.ts';
import type { SourceFault, SourceFile } from '../source/source-files.ts';
import { isMap } from '../yaml/map-fields.ts';
import { DocumentPlace, type SourcePlace } from '../yaml/source-place.ts';
import { readDocuments } from '../yaml/yaml-document.ts';
import type { Segments } from '../yaml/yaml-position.ts';
import { type EnvironmentValues, substitute, type Variables } from './substitute.ts';
import { SubstitutionBudget } from './substitution-budget.ts';

const namePattern = /^values\.(ya?ml|json)$/i;

/** Returns whether a file contains the values of its environment; files in folders below do not. */
export function isValuesFile({ inEnvironment }: SourceFile): boolean {
  return inEnvironment !== undefined && namePattern.test(inEnvironment);
}

/** The top-level values of a file, with its position. */
interface ValuesOfFile {
  readonly place: SourcePlace;
  readonly values: Readonly<Record<string, unknown>>;
}

/** The values of an environment, which manifests read by `${values.x}`. */
export class EnvironmentValueSet implements EnvironmentValues {
  readonly budget = new SubstitutionBudget();
  readonly faults: SourceFault[] = [];
  readonly #files: ValuesOfFile[] = [];
  /** The file to which a missing value would be added. */
  readonly #path: string | undefined;

  /** @param files of a source; those with values are read */
  constructor(files: readonly SourceFile[]) {
    const ours = files.filter(isValuesFile);
    const of = ours[0] ?? files.find(({ inEnvironment }) => inEnvironment !== undefined);
    const folder = of?.path.slice(0, -(of.inEnvironment?.length ?? 0));
    this.#path = ours[0]?.path ?? (folder === undefined ? undefined : `${folder}values.yaml`);
    for (const file of ours) this.#read(file);
  }

  look(path: Segments): unknown {
    return lookInto(this.#fileOf(path)?.values, path);
  }

  positionOf(path: Segments): Position {
    const file = this.#fileOf(path);
    if (file === undefined) throw new Error(`no value is called ${path.join('.')}`);
    return file.place.at(path);
  }

  advice(path: Segments): string {
    if (this.#path === undefined) return 'choose an environment with --env NAME';
    const holder = lookInto(this.#all(), path.slice(0, -1));
    const known = isMap(holder) ? Object.keys(holder) : [];
    const last = path.at(-1) ?? '';
    return didYouMean(last, known) ?? `write ${path.join('.')} into ${this.#path}`;
  }

  #all(): Readonly<Record<string, unknown>> {
    return Object.fromEntries(this.#files.flatMap(({ values }) => Object.entries(values)));
  }

  #fileOf([first]: Segments): ValuesOfFile | undefined {
    return this.#files.find(({ values }) => first !== undefined && Object.hasOwn(values, first));
  }

  #read(file: SourceFile): void {
    const { documents, faults } = readDocuments(file, () => false);
    this.faults.push(...faults);
    const [document, another] = documents;
    if (document === undefined) return;
    const place = new DocumentPlace(document);
    if (isMap(document.value) && isMap(document.value[metadataKey])) {
      const fix = 'put secrets into a file of their own, and name it by valueFrom: {sops: …}';
      const message = 'values are not secrets, and are not decrypted';
      const position = place.at([metadataKey], 'key');
      this.faults.push({ position, code: 'values', message, fix });
      return;
    }
    if (another !== undefined || !isMap(document.value)) {
      const fix = `write them as name: value, and \${values.name} where one is used`;
      const position = another?.position ?? document.position;
      this.faults.push({ position, code: 'values', message: 'values must be one map', fix });
      return;
    }
    const { value, faults: wrong } = substitute(document.value, asWritten);
    for (const { segments, code, message, fix } of wrong) {
      this.faults.push(place.fault(segments, code, message, fix));
    }
    const values = value as Record<string, unknown>;
    for (const name of Object.keys(values)) this.#refuseTwin(name, place);
    this.#files.push({ place, values });
  }

  #refuseTwin(name: string, place: SourcePlace): void {
    const first = this.#fileOf([name]);
    if (first === undefined) return;
    const { file, line, column } = first.place.at([name], 'key');
    const message = `the value "${name}" is set twice, first at ${file}:${line}:${column}`;
    const position = place.at([name], 'key');
    this.faults.push({ position, code: 'duplicate', message, fix: 'remove one of the two' });
  }
}

/** Enters maps by their own keys, and never lists. */
function lookInto(values: unknown, path: Segments): unknown {
  return path.reduce<unknown>(
    (value, key) => (isMap(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    values,
  );
}

/** Values are literal: they read neither variables nor other values. */
const asWritten: Variables = {
  environment: () => ({
    message: 'values read no variables',
    fix: `write \${NAME} in the manifest, or $\${ for a literal \${`,
  }),
  values: {
    look: () => undefined,
    budget: new SubstitutionBudget(),
    positionOf: () => ({ file: '', line: 1, column: 1 }),
    advice: () => 'values read no other values: write it out',
  },
};
