/** Reads the parts of a config document that the drawing shows. The server has validated the document. */

/** One level of a config: a target, or a strategy over further levels. */
export interface ConfigLevel {
  readonly strategy?: {
    readonly mode: string;
    readonly on_status_codes?: readonly number[];
    readonly conditions?: readonly { readonly query: unknown; readonly then: string }[];
    readonly default?: string;
  };
  readonly targets?: readonly ConfigLevel[];
  readonly name?: string;
  readonly weight?: number;
  readonly provider?: string;
  readonly virtual_key?: string;
  readonly custom_host?: string;
  readonly override_params?: { readonly model?: string };
  readonly retry?: { readonly attempts?: number };
  readonly cache?: { readonly mode?: string };
  readonly request_timeout?: number;
  readonly input_guardrails?: readonly unknown[];
  readonly output_guardrails?: readonly unknown[];
}

/** Name of a target as the log names it: its own name, or its place. */
export function nameOf(level: ConfigLevel, path: string): string {
  return level.name ?? path;
}

/** Part of the requests that a target of a load balance gets, from 0 to 1. */
export function shareOf(level: ConfigLevel, siblings: readonly ConfigLevel[]): number {
  const total = siblings.reduce((sum, { weight = 1 }) => sum + weight, 0);
  return total === 0 ? 0 : (level.weight ?? 1) / total;
}

/** Says in words what a strategy does with its targets. */
export function describeStrategy({ strategy }: ConfigLevel): string {
  const codes = strategy?.on_status_codes ?? [];
  switch (strategy?.mode) {
    case 'fallback':
      return codes.length === 0
        ? 'Each request goes to the first target; after a failure to the next.'
        : `Each request goes to the first target; after status ${codes.join(', ')} to the next.`;
    case 'loadbalance':
      return 'Requests are spread over the targets by weight.';
    case 'conditional':
      return 'The first condition that matches selects the target.';
    case undefined:
    case 'single':
      return 'Every request goes to this target.';
    default:
      return `The strategy ${strategy?.mode} selects the target.`;
  }
}
