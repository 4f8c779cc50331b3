/** Knows which planned changes wait because their owner or workspace is suspended. */
import { identityKey } from '../resources/resource-set.ts';
import type { Draft, DraftChange, Plan } from './planned.ts';

/** A told pause that lasts now. */
export interface Suspension {
  /** `metadata.workspace`; null for everything of the owner. */
  readonly workspace: string | null;
  /** RFC 3339; null until somebody resumes. */
  readonly until: string | null;
  readonly reason: string;
}

/** Blocks what would be written in a suspended place; what is kept as it is needs no writing. */
export function blockSuspended(draft: Draft, suspensions: readonly Suspension[]): void {
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

/** Why what is about a resource waits, in words; null where it does not. */
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

/** Names of the workspace that a change is in, or is about: also the one it had before it was renamed. */
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

/** What waits in a plan because it is suspended, as one text to compare; null for nothing. */
export function suspendedIn({ blocked }: Pick<Plan, 'blocked'>): string | null {
  const paused = blocked.filter(({ reason }) => reason === 'suspended');
  return paused.length === 0
    ? null
    : JSON.stringify(paused.map(({ id, message }) => [id, message]));
}
