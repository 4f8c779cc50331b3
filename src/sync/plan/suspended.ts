/** Blocks planned changes while their owner or workspace is suspended. */
import { identityKey } from '../resources/resource-set.ts';
import type { DraftChange, Plan, PlanDraft } from './plan-model.ts';

/** A suspension in force. */
export interface Suspension {
  /** `metadata.workspace`; null for all resources of the owner. */
  readonly workspace: string | null;
  /** RFC 3339; null until it is resumed. */
  readonly until: string | null;
  readonly reason: string;
}

/** Blocks writes in suspended workspaces; `retain` writes nothing. */
export function blockSuspended(draft: PlanDraft, suspensions: readonly Suspension[]): void {
  if (suspensions.length === 0) return;
  const find = suspensionFinder(suspensions);
  for (const change of [...draft.changes.values()]) {
    if (change.action === 'retain') continue;
    const message = find(change);
    if (message === null) continue;
    const position = change.desired?.position ?? null;
    draft.block({ ...change, position, reason: 'suspended', message });
  }
}

/** Returns a function that says why a resource waits; null if it does not. */
export function suspensionFinder(
  suspensions: readonly Suspension[],
): (about: Pick<DraftChange, 'identity' | 'live'>) => string | null {
  const whole = suspensions.find(({ workspace }) => workspace === null);
  const byWorkspace = new Map(suspensions.map((one) => [one.workspace, one]));
  return (about) => {
    const found = whole ?? placesOf(about).flatMap((place) => byWorkspace.get(place) ?? [])[0];
    return found === undefined ? null : messageOf(found);
  };
}

/** Returns the names of the workspace that a change is in or about, including its previous name. */
function placesOf({ identity, live }: Pick<DraftChange, 'identity' | 'live'>): string[] {
  const now = identity.kind === 'Workspace' ? identity.name : identity.workspace;
  const [, ...rest] = (live?.declared ?? identityKey(identity)).split('/');
  const isInside = identity.kind === 'Workspace' || rest.length > 1;
  return [...(now === null ? [] : [now]), ...(isInside ? [rest[0]!] : [])];
}

function messageOf({ workspace, until, reason }: Suspension): string {
  const what = workspace === null ? 'its owner' : `workspace ${workspace}`;
  return `${what} is suspended ${until === null ? 'until it is resumed' : `until ${until}`}: ${reason}`;
}

/** Returns the suspended items as text for comparison; null when there are none. */
export function suspendedIn({ blocked }: Pick<Plan, 'blocked'>): string | null {
  const paused = blocked.filter(({ reason }) => reason === 'suspended');
  return paused.length === 0
    ? null
    : JSON.stringify(paused.map(({ id, message }) => [id, message]));
}
