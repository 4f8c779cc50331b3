/** Selects the scope for resources that belong either to the organisation or to a workspace. */
import { authorise } from '../../auth/authenticate.ts';
import type { Principal } from '../../auth/principal.ts';
import { grantsScope } from '../../model/people/scopes.ts';

type ResourceLocation = 'organisation' | 'workspace';

export interface LocationScopes {
  /** Scopes of both locations; `require` then checks the one for the actual resource. */
  readonly either: (action: string) => readonly string[];
  /** @throws ApiError `forbidden` unless the caller holds the scope for the resource's location */
  readonly require: (
    caller: Principal,
    at: { readonly workspace_id: string | null },
    action: string,
  ) => void;
  /**
   * Location that the caller may list; undefined for both.
   *
   * @throws ApiError `forbidden` for a location that the caller may not list
   */
  readonly visible: (
    caller: Principal,
    requested: ResourceLocation | 'all',
  ) => ResourceLocation | undefined;
}

/** `words` are the scope prefixes for each location: `<word>.read`. */
export function createLocationScopes(
  words: Readonly<Record<ResourceLocation, string>>,
): LocationScopes {
  const scopeOf = (type: ResourceLocation, action: string) => `${words[type]}.${action}`;
  return {
    either: (action) => [scopeOf('organisation', action), scopeOf('workspace', action)],
    require: (caller, { workspace_id: workspaceId }, action) =>
      authorise(caller, scopeOf(workspaceId === null ? 'organisation' : 'workspace', action)),
    visible: (caller, requested) => {
      if (requested !== 'all') {
        authorise(caller, scopeOf(requested, 'list'));
        return requested;
      }
      const seen = (['organisation', 'workspace'] as const).filter((type) =>
        grantsScope(caller.scopes, scopeOf(type, 'list')),
      );
      return seen.length === 1 ? seen[0] : undefined;
    },
  };
}
