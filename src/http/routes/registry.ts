/** Checks that every route has a credential rule, a scope rule and schemas before the server starts. */
import { z } from 'zod';
import { Failure } from '../../failure.ts';
import { type CredentialKind, type Mount, mountPrefixes, type Route } from './route.ts';

/** One route on one of its mounts. */
export interface MountedRoute<Caller> {
  readonly route: Route<Caller>;
  readonly mount: Mount;
  /** Full pattern: `/v1/guardrails/:guardrailId`. */
  readonly pattern: string;
  readonly accepts: readonly CredentialKind[];
}

export function mountRoutes<Caller>(routes: readonly Route<Caller>[]): MountedRoute<Caller>[] {
  return routes.flatMap((route) => {
    const mounts = Object.keys(route.mounts) as Mount[];
    // A route without a mount is included, so that `checkRoutes` can report it.
    return (mounts.length === 0 ? (['root'] as const) : mounts).map((mount) => ({
      route,
      mount,
      pattern: mountPrefixes[mount] + route.path,
      accepts: route.mounts[mount] ?? [],
    }));
  });
}

/**
 * Refuses to start when a route lacks a rule, so that a forgotten rule never means "open to all".
 *
 * @throws Failure `unexpected` that lists every fault
 */
export function checkRoutes(
  guarded: readonly MountedRoute<never>[],
  open: readonly MountedRoute<never>[],
): void {
  const faults = [
    ...guarded.flatMap((mounted) => faultsOf(mounted, false)),
    ...open.flatMap((mounted) => faultsOf(mounted, true)),
    ...duplicates([...guarded, ...open]),
  ];
  if (faults.length > 0) {
    throw new Failure(
      'unexpected',
      `the server does not start, because its routes are not safe:\n  ${faults.join('\n  ')}`,
    );
  }
}

function faultsOf({ route, pattern, accepts }: MountedRoute<never>, open: boolean): string[] {
  const name = `${route.method} ${pattern}`;
  const faults: string[] = [];
  if (accepts.length === 0) faults.push(`${name} has no credential rule`);
  if (open && accepts.some((kind) => kind !== 'none')) faults.push(`${name} is not public`);
  if (!open && accepts.includes('none')) faults.push(`${name} mixes public and guarded`);
  const scoped = accepts.some((kind) => ['access-token', 'api-key', 'bearer-key'].includes(kind));
  if (scoped && [route.scope ?? []].flat().length === 0) faults.push(`${name} has no scope rule`);
  if (route.query !== undefined && !(route.query instanceof z.ZodObject)) {
    faults.push(`${name} has a query schema that is no object`);
  }
  if (route.response === undefined) faults.push(`${name} has no response schema`);
  if (!pattern.startsWith('/')) faults.push(`${name} does not start with a slash`);
  return faults;
}

function duplicates(mounted: readonly MountedRoute<never>[]): string[] {
  const seen = new Set<string>();
  return mounted.flatMap(({ route, pattern }) => {
    const name = `${route.method} ${pattern.replaceAll(/:[^/]+/g, ':')}`;
    if (seen.has(name)) return [`${route.method} ${pattern} is declared twice`];
    seen.add(name);
    return [];
  });
}
