/**
 * Lists every route of the Admin API as the server registers it, for tests and benchmarks that must
 * cover all.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { createIdleRoutes } from '../../../scripts/docs/idle-routes.ts';
import type { Principal } from '../../../src/auth/principal.ts';
import { type MountedRoute, mountRoutes } from '../../../src/http/routes/registry.ts';

/** The route registry of the server; its dependencies are not used before a request arrives. */
export function everyRoute(): MountedRoute<Principal>[] {
  return mountRoutes(createIdleRoutes().guarded);
}

/** A path with every parameter filled: an allowed word, an example, or an unknown id. */
export function pathOf(mounted: MountedRoute<Principal>): string {
  return filledPath(mounted).path;
}

/** Like {@link pathOf}, with the value of each parameter. */
export function filledPath({ route, pattern }: MountedRoute<Principal>): {
  readonly path: string;
  readonly params: Record<string, string>;
} {
  const json =
    route.params === undefined
      ? {}
      : z.toJSONSchema(route.params, { io: 'input', unrepresentable: 'any' });
  const properties = ('properties' in json ? json.properties : {}) as Record<
    string,
    { enum?: string[]; examples?: string[] }
  >;
  const params: Record<string, string> = {};
  const path = pattern.replaceAll(/:([^/]+)/g, (_, name: string) => {
    params[name] = properties[name]?.enum?.[0] ?? properties[name]?.examples?.[0] ?? randomUUID();
    return params[name];
  });
  return { path, params };
}
