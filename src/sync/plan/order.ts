/** Orders changes by references between resources, never by a list of kinds. */
import { Failure } from '../../failure.ts';
import type { Position } from '../resources/resource-set.ts';

export interface Orderable {
  /** Identity key. */
  readonly id: string;
  readonly action: 'create' | 'update' | 'replace' | 'delete' | 'adopt' | 'retain' | 'rotate';
  /** Identity keys that the desired spec refers to. */
  readonly needs: readonly string[];
  /** Identity keys that the live spec refers to; they may not be deleted before this change. */
  readonly holds: readonly string[];
  /**
   * Identity key of the name on the server that the change gives up; null when it keeps its name.
   */
  readonly frees: string | null;
  readonly position: Position | null;
}

export interface OrderedChange<T extends Orderable> {
  readonly change: T;
  /** Ids of changes that must succeed before this one may start. */
  readonly dependsOn: readonly string[];
  /** A deletion that waits for every change that is not one. */
  readonly last: boolean;
}

/**
 * Orders changes topologically: referenced resources first, deletions last and in reverse. Ties are
 * broken by id, so that the order does not depend on the layout of the source. Every prefix leaves
 * no dangling reference. `first` maps an id to a further change that it waits for.
 *
 * @throws Failure (invalid input) that names the documents of a circle
 */
export function orderChanges<T extends Orderable>(
  changes: readonly T[],
  first: ReadonlyMap<string, string> = new Map(),
): OrderedChange<T>[] {
  const byId = new Map(changes.map((change) => [change.id, change]));
  const edges = new Map<string, Set<string>>(changes.map((change) => [change.id, new Set()]));
  const freeing = new Map(changes.map((change) => [change.frees, change]));
  for (const [id, before] of first) edges.get(id)!.add(before);
  for (const change of changes) {
    // A name belongs to one resource at a time: its current holder gives it up first.
    const holder = freeing.get(change.id);
    const takesName = change.action !== 'delete' && change.action !== 'retain';
    if (takesName && holder !== undefined && holder !== change) {
      edges.get(change.id)!.add(holder.id);
    }
    if (change.action !== 'delete') {
      for (const needed of change.needs) {
        const other = byId.get(needed);
        if (other !== undefined && other !== change && other.action !== 'delete') {
          edges.get(change.id)!.add(needed);
        }
      }
    }
    for (const held of change.holds) {
      const other = byId.get(held);
      if (other === undefined || other === change || change.action === 'retain') continue;
      if (other.action === 'delete') edges.get(held)!.add(change.id);
      else if (other.action === 'replace' && !change.needs.includes(held)) {
        edges.get(held)!.add(change.id);
      }
    }
  }
  return sortByLevel(changes, edges);
}

function sortByLevel<T extends Orderable>(
  changes: readonly T[],
  edges: ReadonlyMap<string, ReadonlySet<string>>,
): OrderedChange<T>[] {
  const levels = new Map<string, number>();
  const dependants = new Map<string, string[]>();
  const open = new Map<string, number>();
  for (const [id, needed] of edges) {
    open.set(id, needed.size);
    for (const other of needed) {
      const known = dependants.get(other);
      if (known === undefined) dependants.set(other, [id]);
      else known.push(id);
    }
  }
  let ready = changes.filter((change) => open.get(change.id) === 0).map((change) => change.id);
  for (let level = 0; ready.length > 0; level += 1) {
    const next: string[] = [];
    for (const id of ready) {
      levels.set(id, level);
      for (const dependant of dependants.get(id) ?? []) {
        const left = open.get(dependant)! - 1;
        open.set(dependant, left);
        if (left === 0) next.push(dependant);
      }
    }
    ready = next;
  }
  if (levels.size < changes.length)
    throw circle(
      changes.filter(({ id }) => !levels.has(id)),
      edges,
    );
  const early = neededFirst(changes, edges);
  const isLast = (change: T): boolean => change.action === 'delete' && !early.has(change.id);
  const rank = (change: T): number =>
    (isLast(change) ? changes.length : 0) + levels.get(change.id)!;
  return changes
    .toSorted((one, two) => rank(one) - rank(two) || (one.id < two.id ? -1 : 1))
    .map((change) => ({
      change,
      dependsOn: [...edges.get(change.id)!].sort(),
      last: isLast(change),
    }));
}

/** Returns everything that changes other than deletions wait for, directly or indirectly. */
function neededFirst(
  changes: readonly Orderable[],
  edges: ReadonlyMap<string, ReadonlySet<string>>,
): ReadonlySet<string> {
  const needed = new Set<string>();
  const open = changes.filter(({ action }) => action !== 'delete').map(({ id }) => id);
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    for (const other of edges.get(id)!) {
      if (!needed.has(other)) open.push(other);
      needed.add(other);
    }
  }
  return needed;
}

function circle(
  stuck: readonly Orderable[],
  edges: ReadonlyMap<string, ReadonlySet<string>>,
): Failure {
  const byId = new Map(stuck.map((change) => [change.id, change]));
  const path: string[] = [];
  let at: string | undefined = stuck.map((change) => change.id).sort()[0];
  while (at !== undefined && !path.includes(at)) {
    path.push(at);
    at = [...edges.get(at)!].filter((id) => byId.has(id)).sort()[0];
  }
  const members = path.slice(path.indexOf(at!));
  const lines = members.map((id) => {
    const { position } = byId.get(id)!;
    const where =
      position === null ? '' : ` (${position.file}:${position.line}:${position.column})`;
    return `  ${id}${where}`;
  });
  return new Failure(
    'invalidInput',
    `these resources refer to each other in a circle, so none can be created first:\n${lines.join(
      '\n',
    )}\nRemove one of the references.`,
  );
}
