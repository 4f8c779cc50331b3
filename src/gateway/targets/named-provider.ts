/** Determines the provider that a request names: from the config, the overridden model, headers, or the model. */
import type { TargetSettings } from '../../model/configs/config-tree.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

export interface NamedProvider {
  /** `@slug` of a provider of a workspace, or the name of a service. */
  readonly provider: string;
  /** Model without its provider prefix; null when it has none. */
  readonly model: string | null;
}

/** Whether the config determines the provider, so that headers cannot. */
export function pinsProvider(settings: TargetSettings): boolean {
  return pinnedBy(settings) !== null || splitModel(settings.overrideParams?.model) !== null;
}

/** @throws GatewayError when nothing names a provider */
export function namedProvider(
  settings: TargetSettings,
  params: Readonly<Record<string, unknown>>,
): NamedProvider {
  const inModel = splitModel(settings.overrideParams?.model ?? params.model);
  const usual = settings.customHost === null ? null : 'openai';
  const provider = pinnedBy(settings) ?? inModel?.provider ?? usual;
  if (provider !== null) return { provider, model: inModel?.model ?? null };
  const message =
    'No provider is named: send x-gateway-config or x-gateway-provider, or set a config on the key';
  throw new GatewayError('provider_missing', message, 'x-gateway-provider');
}

/** A virtual key is the slug of a provider and takes precedence over the name of a service. */
function pinnedBy({ provider, virtualKey }: TargetSettings): string | null {
  if (virtualKey === null || provider?.startsWith('@') === true) return provider;
  return virtualKey.startsWith('@') ? virtualKey : `@${virtualKey}`;
}

/** `@slug/model`. */
function splitModel(model: unknown): { provider: string; model: string } | null {
  if (typeof model !== 'string' || !model.startsWith('@')) return null;
  const slash = model.indexOf('/');
  return slash < 0 ? null : { provider: model.slice(0, slash), model: model.slice(slash + 1) };
}
