/** Determines the models of one source that requests of a key may name, and under which ids. */
import type { CheckSubject } from '../../guardrails/check.ts';
import { type Check, type Guardrail, isObserving } from '../../guardrails/guardrail.ts';
import { modelsInConditions, targetsForModel } from '../../model/configs/reached-targets.ts';
import type { ListedModel, OfferedModel } from '../../model/providers/model-list.ts';
import { azureDeploymentOf } from '../../model/services/azure-deployments.ts';
import { LoopTurns } from '../../slices.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { CallContext } from '../calls/request-context.ts';
import type { GatewayProvider } from '../targets/gateway-provider.ts';
import { isModelAllowed } from '../targets/model-permission.ts';
import { namedProvider } from '../targets/named-provider.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import type { ModelSource } from './model-sources.ts';

export interface SourceModels {
  readonly models: readonly OfferedModel[];
  /** Why the provider's own list is missing; null when it is not. */
  readonly fault: string | null;
}

/** `target` is the source resolved for `GET /models`. */
export async function offeredModels(
  context: CallContext,
  source: ModelSource,
  target: ResolvedTarget,
): Promise<SourceModels> {
  const { models, fault } = await candidatesOf(context, source, target);
  const checks = await modelChecksOf(context, source);
  const { service } = target.pricing;
  const { metadata } = context.exchange;
  const { root } = context.config;
  const turns = new LoopTurns();
  const offered: OfferedModel[] = [];
  for (const { id, name, members } of models) {
    await turns.next();
    if (!targetsForModel(root, id, metadata).has(source.target)) continue;
    const subject = subjectFor(context.exchange, target.provider, name);
    if (await passesAll(checks, subject)) offered.push({ id, name, members, service });
  }
  return { models: offered, fault };
}

interface Candidate extends ListedModel {
  readonly id: string;
}

/** The models that the source may have, before guardrails and conditions of the config. */
async function candidatesOf(
  context: CallContext,
  { leaf, prefix }: ModelSource,
  target: ResolvedTarget,
): Promise<{ readonly models: readonly Candidate[]; readonly fault: string | null }> {
  const { overrideParams } = leaf.settings;
  const override = overrideParams?.model;
  const provider = target.workspaceProvider;
  if (typeof override === 'string') {
    // This model answers every name.
    const name = namedProvider(leaf.settings, {}).model ?? override;
    if (provider !== null && !isModelAllowed(provider, name)) return { models: [], fault: null };
    const ids = [...modelsInConditions(context.config.root), name];
    return { models: ids.map((id) => ({ id, name, members: {} })), fault: null };
  }
  const { models, fault } = await listOf(context, target, provider);
  return { models: models.map((one) => ({ id: prefix + one.name, ...one })), fault };
}

/** The models that the integration lists where it allows no others, else also those of the provider. */
async function listOf(
  { services, exchange }: CallContext,
  target: ResolvedTarget,
  provider: GatewayProvider | null,
): Promise<{ readonly models: readonly ListedModel[]; readonly fault: string | null }> {
  const listed = provider === null ? [] : configuredModels(provider);
  if (provider?.allowsAllModels === false || (provider?.deployments.length ?? 0) > 0) {
    return { models: listed, fault: null };
  }
  const own = await services.providerModels.list(target, exchange.now);
  if ('fault' in own) return { models: listed, fault: own.fault };
  const turns = new LoopTurns();
  const allowed: ListedModel[] = [];
  for (const model of own.models) {
    await turns.next();
    if (provider === null || isModelAllowed(provider, model.name)) allowed.push(model);
  }
  const names = new Set(allowed.map(({ name }) => name));
  return { models: [...allowed, ...listed.filter(({ name }) => !names.has(name))], fault: null };
}

/** Enabled models of an integration, and the names of its Azure deployments. */
function configuredModels(provider: GatewayProvider): ListedModel[] {
  const { models, deployments } = provider;
  const enabled = [...models].filter(([, { isEnabled }]) => isEnabled).map(([name]) => name);
  const deployed = deployments.map(
    ({ alias, azure_model_slug: model, azure_deployment_name: name }) => alias ?? model ?? name,
  );
  const isCallable = (name: string): boolean =>
    (deployments.length === 0 || azureDeploymentOf(deployments, name) !== undefined) &&
    isModelAllowed(provider, name);
  return [...new Set([...deployed, ...enabled])]
    .filter(isCallable)
    .map((name) => ({ name, members: {} }));
}

/** Checks that judge only the name of a model. */
const modelChecks = ['default.modelwhitelist', 'default.modelrules'];

/** Whether a guardrail that denies judges models by their names. */
export async function hasModelChecks(context: CallContext, source: ModelSource): Promise<boolean> {
  return (await modelChecksOf(context, source)).length > 0;
}

async function modelChecksOf(
  { services, exchange }: CallContext,
  { target: { settings } }: ModelSource,
): Promise<Check[]> {
  const guardrails = await services.guardrails.of(exchange.key, settings.guardrails);
  const checks = (guardrails?.input ?? []).filter(isDenying).flatMap((one) => one.checks);
  return checks.filter(({ id }) => modelChecks.includes(id.toLowerCase()));
}

async function passesAll(checks: readonly Check[], subject: CheckSubject): Promise<boolean> {
  for (const { run } of checks) {
    const { passes } = await run(subject);
    if (!passes) return false;
  }
  return true;
}

function isDenying(guardrail: Guardrail): boolean {
  return guardrail.denies && !isObserving(guardrail);
}

function subjectFor(
  { id, metadata, request }: Exchange,
  provider: string,
  model: string,
): CheckSubject {
  return {
    side: 'input',
    endpoint: 'chat_completions',
    isStream: false,
    params: { model },
    answer: null,
    passages: [],
    unreadable: null,
    metadata,
    headers: request.headers,
    provider,
    model,
    traceId: id,
  };
}
