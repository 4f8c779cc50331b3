/** Knows which workspaces a plan leaves as they are: those not asked for, and those in which the source is wrong. */
import { Failure } from '../../failure.ts';
import {
  type DesiredSet,
  type HeldFault,
  type Identity,
  type LiveResource,
  workspaceOf,
} from '../resources/resource-set.ts';
import { concerns, isInScope, type WorkspaceScope } from '../resources/workspace-scope.ts';
import type { Held } from './held-back.ts';

export class Borders {
  /** What is wrong in the scope, with every workspace that it holds. */
  readonly faults: readonly HeldFault[];
  readonly #scope: WorkspaceScope;
  readonly #held: ReadonlySet<string | null>;
  readonly #lastSound: ReadonlySet<string | null>;
  /** A fault that may hide what the source declares, anywhere. */
  readonly #hiding: HeldFault | undefined;

  /**
   * @param owned what this owner has on the server
   * @throws Failure (invalid input) where the scope names a workspace that neither side has
   */
  constructor(desired: DesiredSet, owned: readonly LiveResource[], scope: WorkspaceScope) {
    const renames = renamedWorkspaces(desired);
    const all = (desired.faults ?? []).map((fault) =>
      withFormerNames(withRecorded(fault, owned), renames),
    );
    this.faults = all.filter((fault) => concerns(fault, scope));
    this.#scope = scope;
    this.#lastSound = desired.lastSound ?? new Set();
    this.#held = new Set(all.flatMap(({ workspaces }) => workspaces));
    this.#hiding = all.find(({ mayHide }) => mayHide);
    const known = new Set(
      [...desired.resources, ...owned].map(({ identity }) => workspaceOf(identity)),
    );
    for (const name of scope ?? []) {
      if (!known.has(name) && !this.#held.has(name)) throw unknownWorkspace(name);
    }
  }

  /** Whether a resource is neither compared nor written nor removed. */
  isOutside(identity: Identity): boolean {
    if (!isInScope(identity, this.#scope)) return true;
    return this.isHeld(identity) && !this.#lastSound.has(workspaceOf(identity));
  }

  /** Whether the source is wrong where it belongs, so that nothing there counts as having left it. */
  isHeld(identity: Identity): boolean {
    return this.#held.has(workspaceOf(identity));
  }

  /** Why nothing may count as having left the source; null where it may. */
  whyKept(): Held | null {
    if (this.#hiding === undefined) return null;
    const { file, line } = this.#hiding.fault.position;
    const message = `it may have left the source, or be declared in what cannot be read; nothing is \
removed until ${file}:${line} is corrected`;
    return { reason: 'unread', message };
  }
}

/** Adds the workspaces of what was applied from a file that cannot be read now. */
function withRecorded(fault: HeldFault, owned: readonly LiveResource[]): HeldFault {
  const { unread, workspaces } = fault;
  if (unread === null) return fault;
  const recorded = owned.filter(
    ({ source }) => source?.file === unread || source?.file?.startsWith(`${unread}/`),
  );
  const all = [...workspaces, ...recorded.map(({ identity }) => workspaceOf(identity))];
  return { ...fault, workspaces: [...new Set(all)] };
}

/** The names of each workspace that was renamed, now and before. */
function renamedWorkspaces({ resources }: DesiredSet): readonly string[][] {
  return resources
    .filter(
      ({ identity, previousNames }) => identity.kind === 'Workspace' && previousNames.length > 0,
    )
    .map(({ identity, previousNames }) => [identity.name, ...previousNames]);
}

/** What is held under one name is held under all: on the server it may still have the one before. */
function withFormerNames(fault: HeldFault, renames: readonly string[][]): HeldFault {
  const held = new Set(fault.workspaces);
  for (let before = -1; before < held.size; ) {
    before = held.size;
    for (const names of renames) {
      if (names.some((name) => held.has(name))) for (const name of names) held.add(name);
    }
  }
  return held.size === fault.workspaces.length ? fault : { ...fault, workspaces: [...held] };
}

function unknownWorkspace(name: string): Failure {
  const message = `--workspace ${name}: no workspace of that name is declared in the source, and \
this owner has none; it is the name in metadata.workspace`;
  return new Failure('invalidInput', message);
}
