/** Finds the environment folders of a source and selects one. */
import { Failure } from '../../failure.ts';
import { didYouMean } from '../../suggest.ts';

const folderName = 'environments';

/** A folder `environments/NAME/` of a location, with everything below. */
export interface EnvironmentFolder {
  readonly name: string;
  /** Relative to the location, with a trailing `/`. */
  readonly path: string;
  /** Nothing is read of the others. */
  readonly isChosen: boolean;
}

/** The environments of one location, collected while reading. */
export class EnvironmentFolders {
  readonly #chosen: string | null | undefined;
  readonly #met = new Map<string, EnvironmentFolder>();

  /** @param chosen null for none; undefined to treat all files alike */
  constructor(chosen: string | null | undefined) {
    this.#chosen = chosen;
  }

  /** In alphabetical order. */
  get met(): EnvironmentFolder[] {
    return [...this.#met.values()].sort((one, two) => (one.name < two.name ? -1 : 1));
  }

  /** @param path relative to the location; folders have a trailing `/` */
  leavesOut(path: string): boolean {
    const [folder, name, below] = path.split('/', 3);
    if (this.#chosen === undefined || folder !== folderName || below === undefined) return false;
    const isChosen = name === this.#chosen;
    this.#met.set(name!, { name: name!, path: `${folderName}/${name}/`, isChosen });
    return !isChosen;
  }
}

/**
 * Requires the selection of an existing environment: the files of one never belong to another, and
 * files outside are never applied alone by mistake.
 *
 * @param all environments of the source
 * @throws Failure (invalid input) when a selection is missing, or names no environment
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
    const message = `The source has environments (${list}), and none is selected. Select one with --env or GATEWRIGHT_ENVIRONMENT.`;
    throw new Failure('invalidInput', message);
  }
  const there = names.length === 0 ? 'It has no environments.' : `It has ${list}.`;
  const near = didYouMean(chosen, names);
  const message = `The source has no folder ${folderName}/${chosen}. ${there}`;
  throw new Failure('invalidInput', near === undefined ? message : `${message} ${near}`);
}
