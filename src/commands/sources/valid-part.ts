/** Determines which part of a source can be applied despite faults. */
import { Failure } from '../../failure.ts';
import type { ReadSource } from '../../sync/desired/desired.ts';
import { type DesiredSet, owningWorkspace } from '../../sync/resources/resource-set.ts';
import { isInScope, type WorkspaceScope } from '../../sync/resources/workspace-scope.ts';
import type { SourceFault } from '../../sync/source/source-files.ts';
import { unreachableCode } from '../../sync/validation/secrets.ts';
import { formatFaults } from './fault-text.ts';

/**
 * The source with its faults, so that the plan can skip the faulty parts.
 *
 * @throws Failure (invalid input) that lists every fault with its position, when every workspace of the
 *   scope has one, or when faults prevent the manifests from being determined at all
 */
export function requireValidPart({ set, waiting }: ReadSource, scope: WorkspaceScope): DesiredSet {
  if (set.faults.length === 0) return set;
  const faults = [...set.faults, ...waiting];
  const held = new Set(faults.flatMap(({ workspaces }) => workspaces));
  const hasSound = set.resources.some(
    ({ identity }) => isInScope(identity, scope) && !held.has(owningWorkspace(identity)),
  );
  const isDoubtful = faults.some(({ holdsAll }) => holdsAll);
  if (!hasSound || isDoubtful) throw sourceFailure(set.faults.map(({ fault }) => fault));
  return { ...set, faults };
}

/** The failure of a source that cannot be applied, listing every fault with its position. */
export function sourceFailure(faults: readonly SourceFault[]): Failure {
  const place = faults[0]?.position;
  const isOutOfReach = faults.every(({ code }) => code === unreachableCode);
  const kind = isOutOfReach ? 'unreachable' : 'invalidInput';
  return new Failure(kind, formatFaults(faults).trimEnd(), { place });
}
