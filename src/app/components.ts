/** Defines the components that can run in separate processes, and which of them a process runs. */
import type { CallerServices } from '../gateway/callers/caller-services.ts';
import type { Feature, Settings } from '../settings.ts';

/** The Admin API, inference, MCP, and scheduled jobs. */
export const allComponents = ['admin', 'gateway', 'mcp', 'jobs'] as const;
export type Component = (typeof allComponents)[number];

interface ComponentParts {
  readonly settings: Pick<Settings, 'features'>;
  readonly components: readonly Component[];
}

/** Whether the process runs the component; MCP can be switched off as a feature. */
export function runsComponent(
  { settings, components }: ComponentParts,
  component: Component,
): boolean {
  return components.includes(component) && (component !== 'mcp' || settings.features.mcp);
}

/** Whether the process serves requests of callers, for which a snapshot suffices. */
export function runsGateways(parts: ComponentParts): boolean {
  return runsComponent(parts, 'gateway') || runsComponent(parts, 'mcp');
}

/**
 * All components of a process share one readiness. Without a snapshot, the Admin API determines it, which cannot
 * serve without the database; with one, the gateways do, because every caller continues to be served.
 */
export function servesWithoutDatabase(
  parts: ComponentParts,
  callers: Pick<CallerServices, 'servesWithoutDatabase'>,
  hasSnapshot: boolean,
): boolean {
  const isDetermined = hasSnapshot ? runsGateways(parts) : !runsComponent(parts, 'admin');
  return isDetermined && callers.servesWithoutDatabase();
}

export function disabledFeatures({ features }: Settings): ReadonlySet<Feature> {
  const names = Object.keys(features) as (keyof typeof features)[];
  return new Set(names.filter((name) => !features[name]));
}
