/** Knows which scope a resource asks for that is either the organisation's or a workspace's. */
import { authorise } from '../../auth/authenticate.ts';
import type { Principal } from '../../auth/principal.ts';
import { covers } from '../../model/scopes.ts';

/** Where it is. */
type PlacedType = 'organisation' | 'workspace';

export interface PlacedScopes {
  /** Which of the two counts depends on the resource; `require` then asks for the one. */
  readonly either: (action: string) => readonly string[];
  /** @throws ApiError `forbidden` unless the caller holds the scope for where the resource is. */
  readonly require: (
    caller: Principal,
    at: { readonly workspace_id: string | null },
    action: string,
  ) => void;
  /**
   * A caller who may list one type only is shown that type; undefined for both.
   *
   * @throws ApiError `forbidden` for a type that it may not list.
   */
  readonly visible: (caller: Principal, wanted: PlacedType | 'all') => PlacedType | undefined;
}

/** By where a resource is, what the scopes are called that speak of it: `<word>.read`. */
export function placedScopes(words: Readonly<Record<PlacedType, string>>): PlacedScopes {
  const scopeOf = (type: PlacedType, action: string) => `${words[type]}.${action}`;
  return {
    either: (action) => [scopeOf('organisation', action), scopeOf('workspace', action)],
    require: (caller, { workspace_id: workspaceId }, action) =>
      authorise(caller, scopeOf(workspaceId === null ? 'organisation' : 'workspace', action)),
    visible: (caller, wanted) => {
      if (wanted !== 'all') {
        authorise(caller, scopeOf(wanted, 'list'));
        return wanted;
      }
      const seen = (['organisation', 'workspace'] as const).filter((type) =>
        covers(caller.scopes, scopeOf(type, 'list')),
      );
      return seen.length === 1 ? seen[0] : undefined;
    },
  };
}
