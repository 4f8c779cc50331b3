/** Knows the values of the environment that was chosen: what `values.yaml` in its folder says. */
import { didYouMean } from '../../suggest.ts';
import type { Position } from '../resources/resource-set.ts';
import { metadataKey } from '../sops/leaves.ts';
import type { SourceFault, SourceFile } from '../source/source-files.ts';
import { isMap } from '../yaml/map-fields.ts';
import { DocumentPlace, type Place } from '../yaml/place.ts';
import { readDocuments } from '../yaml/yaml-document.ts';
import type { Segments } from '../yaml/yaml-position.ts';
import { Budget } from './budget.ts';
import { type EnvironmentValues, substitute, type Variables } from './substitute.ts';

const namePattern = /^values\.(ya?ml|json)$/i;

/** Whether a file of the environment's folder holds its values; those of folders below it do not. */
export function isValuesFile({ inEnvironment }: SourceFile): boolean {
  return inEnvironment !== undefined && namePattern.test(inEnvironment);
}

/** Each top-level value, and where it stands. */
interface ValuesOfFile {
  readonly place: Place;
  readonly values: Readonly<Record<string, unknown>>;
}

/** What is written once for an environment, read wherever a manifest says `${values.x}`. */
export class Values implements EnvironmentValues {
  readonly budget = new Budget();
  readonly faults: SourceFault[] = [];
  readonly #files: ValuesOfFile[] = [];
  /** Where a value that is missing would be written. */
  readonly #path: string | undefined;

  /** @param files of a source; those that hold values are read */
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
      const fix = 'keep secrets in a file of their own, which valueFrom: {sops: …} names';
      const message = 'values are no secrets, and are not decrypted';
      const position = place.at([metadataKey], 'key');
      this.faults.push({ position, code: 'values', message, fix });
      return;
    }
    if (another !== undefined || !isMap(document.value)) {
      const fix = `write them as name: value, and \${values.name} where one is used`;
      const position = another?.position ?? document.position;
      this.faults.push({ position, code: 'values', message: 'values are one map', fix });
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

  #refuseTwin(name: string, place: Place): void {
    const first = this.#fileOf([name]);
    if (first === undefined) return;
    const { file, line, column } = first.place.at([name], 'key');
    const message = `the value "${name}" is given twice, first at ${file}:${line}:${column}`;
    const position = place.at([name], 'key');
    this.faults.push({ position, code: 'duplicate', message, fix: 'remove one of the two' });
  }
}

/** Maps are entered by their own keys, lists not at all. */
function lookInto(values: unknown, path: Segments): unknown {
  return path.reduce<unknown>(
    (value, key) => (isMap(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    values,
  );
}

/** Values read nothing: what stands in them is all that they are. */
const asWritten: Variables = {
  environment: () => ({
    message: 'values read no variables',
    fix: `write \${NAME} in the manifest, or $\${ for a literal \${`,
  }),
  values: {
    look: () => undefined,
    budget: new Budget(),
    positionOf: () => ({ file: '', line: 1, column: 1 }),
    advice: () => 'values read no other values: write it out',
  },
};
