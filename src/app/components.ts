/** Defines the components that can run in separate processes, and which of them a process runs. */
import type { CallerServices } from '../gateway/callers/caller-services.ts';
import type { Settings } from '../settings.ts';

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

/** The Admin API cannot serve without the database, and all components of a process share one readiness. */
export function servesWithoutDatabase(
  parts: ComponentParts,
  callers: Pick<CallerServices, 'servesWithoutDatabase'>,
): boolean {
  return !runsComponent(parts, 'admin') && callers.servesWithoutDatabase();
}
