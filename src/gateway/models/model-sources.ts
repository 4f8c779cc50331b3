/** Finds the providers that the models of a key come from: the targets of its config, else those of its workspace. */
import type { ConfigLeaf } from '../../model/configs/config-tree.ts';
import { leavesOf } from '../../model/configs/reached-targets.ts';
import type { CallContext } from '../calls/request-context.ts';
import { namedProvider } from '../targets/named-provider.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

/** A provider whose models requests can reach by one target of the config. */
export interface ModelSource {
  /** The target as the config has it. */
  readonly target: ConfigLeaf;
  /** The target with the provider, for calls without a body. */
  readonly leaf: ConfigLeaf;
  /** Precedes the name of each model: `@slug/` where requests name the provider, else empty. */
  readonly prefix: string;
}

export async function modelSourcesOf(context: CallContext): Promise<ModelSource[]> {
  const { config, exchange, services } = context;
  const leaves = leavesOf(config.root);
  if (leaves.every(isPinned)) return leaves.map(sourceAtPinned);
  const { organisationId, workspace } = exchange.key;
  const workspaceId = workspace?.id ?? config.workspaceId;
  const names = await services.callableProviders.list({ organisationId, workspaceId });
  return leaves.flatMap((leaf) =>
    isPinned(leaf) ? [sourceAtPinned(leaf)] : names.map((name) => sourceAt(leaf, name)),
  );
}

/** Whether requests reach the provider of the target without naming it. */
function isPinned({ settings }: ConfigLeaf): boolean {
  try {
    namedProvider(settings, noParams);
    return true;
  } catch (thrown) {
    if (thrown instanceof GatewayError) return false;
    throw thrown;
  }
}

const noParams = {};

function sourceAtPinned(leaf: ConfigLeaf): ModelSource {
  return { target: leaf, leaf, prefix: '' };
}

function sourceAt(leaf: ConfigLeaf, provider: string): ModelSource {
  const settings = { ...leaf.settings, provider, virtualKey: null };
  return { target: leaf, leaf: { ...leaf, settings }, prefix: `${provider}/` };
}
