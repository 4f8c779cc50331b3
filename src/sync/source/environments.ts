/** Knows which folders of a source are environments, and which of them counts. */
import { Failure } from '../../failure.ts';
import { didYouMean } from '../../suggest.ts';

const folderName = 'environments';

/** A folder `environments/NAME/` of a location, with all that is below it. */
export interface EnvironmentFolder {
  readonly name: string;
  /** From the location, with a `/` at the end. */
  readonly path: string;
  /** Nothing is read of the others. */
  readonly isChosen: boolean;
}

/** The environments of one location, as they are met. */
export class EnvironmentFolders {
  readonly #chosen: string | null | undefined;
  readonly #met = new Map<string, EnvironmentFolder>();

  /** @param chosen null for none; undefined where they mean nothing, and all files count alike */
  constructor(chosen: string | null | undefined) {
    this.#chosen = chosen;
  }

  /** In order. */
  get met(): EnvironmentFolder[] {
    return [...this.#met.values()].sort((one, two) => (one.name < two.name ? -1 : 1));
  }

  /** @param path of a file, or of a folder with a `/` at the end, from the location */
  leavesOut(path: string): boolean {
    const [folder, name, below] = path.split('/', 3);
    if (this.#chosen === undefined || folder !== folderName || below === undefined) return false;
    const isChosen = name === this.#chosen;
    this.#met.set(name!, { name: name!, path: `${folderName}/${name}/`, isChosen });
    return !isChosen;
  }
}

/**
 * What stands in an environment is no part of another, and nobody is given the rest alone by mistake.
 *
 * @param all environments of the source
 * @throws Failure (invalid input) where one has to be chosen and none is, or one that is not there
 */
export function requireEnvironment(
  all: readonly EnvironmentFolder[],
  chosen: string | null | undefined,
): void {
  if (chosen === undefined) return;
  const names = [...new Set(all.map(({ name }) => name))].sort();
  if (chosen === null ? names.length === 0 : names.includes(chosen)) return;
  const list = names.join(', ');
  if (chosen === null) {
    const message = `The source has environments (${list}), and none is chosen. Name one with --env or GATEWRIGHT_ENVIRONMENT.`;
    throw new Failure('invalidInput', message);
  }
  const there = names.length === 0 ? 'It has no environments.' : `It has ${list}.`;
  const near = didYouMean(chosen, names);
  const message = `The source has no folder ${folderName}/${chosen}. ${there}`;
  throw new Failure('invalidInput', near === undefined ? message : `${message} ${near}`);
}
