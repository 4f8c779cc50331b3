/** Determines which workspaces a plan leaves alone: those outside the scope, and invalid ones. */
import { Failure } from '../../failure.ts';
import {
  type DesiredSet,
  type HeldFault,
  type Identity,
  type LiveResource,
  owningWorkspace,
} from '../resources/resource-set.ts';
import { concerns, isInScope, type WorkspaceScope } from '../resources/workspace-scope.ts';
import type { RemovalHold } from './removal-holds.ts';

export class PlanScope {
  /** The faults within the scope, with every workspace that they hold back. */
  readonly faults: readonly HeldFault[];
  readonly #scope: WorkspaceScope;
  readonly #held: ReadonlySet<string | null>;
  readonly #lastSound: ReadonlySet<string | null>;
  /** A fault that may hide declarations in any workspace. */
  readonly #hiding: HeldFault | undefined;

  /**
   * @param owned live resources of this owner
   * @throws Failure (invalid input) when the scope names a workspace that exists on neither side
   */
  constructor(desired: DesiredSet, owned: readonly LiveResource[], scope: WorkspaceScope) {
    const renames = renamedWorkspaces(desired);
    const all = (desired.faults ?? []).map((fault) =>
      withFormerNames(withRecorded(fault, owned), renames),
    );
    this.faults = all.filter((fault) => concerns(fault, scope));
    this.#scope = scope;
    this.#lastSound = desired.lastValid ?? new Set();
    this.#held = new Set(all.flatMap(({ workspaces }) => workspaces));
    this.#hiding = all.find(({ mayHide }) => mayHide);
    const known = new Set(
      [...desired.resources, ...owned].map(({ identity }) => owningWorkspace(identity)),
    );
    for (const name of scope ?? []) {
      if (!known.has(name) && !this.#held.has(name)) throw unknownWorkspace(name);
    }
  }

  /** Returns whether a resource is excluded from comparison, writes and deletion. */
  isOutside(identity: Identity): boolean {
    if (!isInScope(identity, this.#scope)) return true;
    return this.isHeld(identity) && !this.#lastSound.has(owningWorkspace(identity));
  }

  /**
   * Returns whether the source is invalid in the resource's workspace, so that nothing there is
   * pruned.
   */
  isHeld(identity: Identity): boolean {
    return this.#held.has(owningWorkspace(identity));
  }

  /** Returns why nothing may be pruned; null if pruning is allowed. */
  whyNothingPruned(): RemovalHold | null {
    if (this.#hiding === undefined) return null;
    const { file, line } = this.#hiding.fault.position;
    const message = `it may have left the source, or be declared in a file that cannot be read; nothing is \
removed until ${file}:${line} is corrected`;
    return { reason: 'unread', message };
  }
}

/** Adds the workspaces of resources that were applied from a file that cannot be read now. */
function withRecorded(fault: HeldFault, owned: readonly LiveResource[]): HeldFault {
  const { unread, workspaces } = fault;
  if (unread === null) return fault;
  const recorded = owned.filter(
    ({ source }) => source?.file === unread || source?.file?.startsWith(`${unread}/`),
  );
  const all = [...workspaces, ...recorded.map(({ identity }) => owningWorkspace(identity))];
  return { ...fault, workspaces: [...new Set(all)] };
}

/** Returns the current and previous names of each renamed workspace. */
function renamedWorkspaces({ resources }: DesiredSet): readonly string[][] {
  return resources
    .filter(
      ({ identity, previousNames }) => identity.kind === 'Workspace' && previousNames.length > 0,
    )
    .map(({ identity, previousNames }) => [identity.name, ...previousNames]);
}

/** Holds a workspace under all its names, because the server may still have a previous one. */
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
