/** Knows which provider a request names: what its config pins first, then the model that it sets, then headers, then the model asked for. */
import type { TargetSettings } from '../../model/configs/config-tree.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

export interface NamedProvider {
  /** `@slug` of one of a workspace, else a service by its name. */
  readonly provider: string;
  /** Without the provider that stands before it; null where none does. */
  readonly model: string | null;
}

/** Whether a config says which provider is called, so that no header does. */
export function pinsProvider(settings: TargetSettings): boolean {
  return pinnedBy(settings) !== null || splitModel(settings.overrideParams?.model) !== null;
}

/** @throws GatewayError where nothing names one */
export function namedProvider(
  settings: TargetSettings,
  params: Readonly<Record<string, unknown>>,
): NamedProvider {
  const inModel = splitModel(settings.overrideParams?.model ?? params.model);
  const usual = settings.customHost === null ? null : 'openai';
  const provider = pinnedBy(settings) ?? inModel?.provider ?? usual;
  if (provider !== null) return { provider, model: inModel?.model ?? null };
  const message =
    'Nothing says which provider to call: send x-gateway-config or x-gateway-provider, or give the key a config';
  throw new GatewayError('provider_missing', message, 'x-gateway-provider');
}

/** Beside a virtual key, which is the slug of a provider, the name of a service says nothing new. */
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
