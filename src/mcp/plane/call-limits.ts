/** Determines and reserves the limits of a tool call: those of its key and workspace, and of matching policies. */
import { detach } from '../../detached.ts';
import type { GatewayKey } from '../../gateway/callers/gateway-key.ts';
import type { Metadata } from '../../gateway/callers/metadata.ts';
import { limitRefusalOf } from '../../gateway/metering/admit.ts';
import type { Account } from '../../ledger/ledger.ts';
import type { Limit, UsageBound } from '../../ledger/limit.ts';
import {
  limitOfBudget,
  limitsOfPolicy,
  limitsOfRates,
  type PolicyTerms,
  type RequestFacts,
} from '../../ledger/request-limits.ts';
import { toolKeys } from '../../model/limits/policy.ts';
import { PlaneFault } from '../messages/plane-fault.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import type { CallState } from '../rounds/call-states.ts';
import type { PlaneServer } from './plane-server.ts';
import type { PlaneServices } from './plane-services.ts';

/** A call of one tool. */
export interface LimitedCall {
  readonly key: GatewayKey;
  readonly server: Pick<PlaneServer, 'id' | 'slug'>;
  readonly tool: string;
  readonly params: RpcObject;
  readonly metadata: Metadata;
  /** The state that the call continues; null for a new call. */
  readonly retried: CallState | null;
  readonly now: number;
}

/** Reservations of one call; `settle` or `undo` is called once. */
export interface ReservedCall {
  /** The call has reached the server. */
  settle(): void;
  /** The call was never sent. */
  undo(): void;
}

const nothing: ReservedCall = { settle: () => {}, undo: () => {} };
/** A tool call has no tokens of its own; policies on tokens count its arguments. */
const charsPerToken = 4;

/**
 * Reserves the call under all its limits or under none.
 *
 * @throws GatewayError when a limit is reached or unknown
 * @throws PlaneFault when a policy limits what tool calls do not have
 */
export function reserveCall(
  services: Pick<
    PlaneServices,
    'policies' | 'ledger' | 'enforcesLimits' | 'limitsBy' | 'answeredStates'
  >,
  call: LimitedCall,
): Promise<ReservedCall> | ReservedCall {
  const reading = services.policies.of(call.key.organisationId);
  return reading instanceof Promise
    ? reading.then((policies) => reserveUnder(services, call, policies))
    : reserveUnder(services, call, reading);
}

type LimitServices = Pick<
  PlaneServices,
  'ledger' | 'enforcesLimits' | 'limitsBy' | 'answeredStates'
>;

function reserveUnder(
  services: LimitServices,
  call: LimitedCall,
  policies: readonly PolicyTerms[],
): Promise<ReservedCall> | ReservedCall {
  const limits = limitsOf(services, call, policies);
  return limits.length === 0 ? nothing : reserveLimits(services, call, limits);
}

async function reserveLimits(
  services: LimitServices,
  call: LimitedCall,
  limits: readonly Limit[],
): Promise<ReservedCall> {
  const continued = call.retried === null ? null : await continuedCall(services, call);
  if (continued !== null) return continued;
  const account = services.ledger.open();
  const bound = boundOf(call, limits);
  try {
    const admitting = account.admit(limits, bound);
    if (admitting instanceof Promise) await admitting;
  } catch (thrown) {
    throw limitRefusalOf(thrown, call.now);
  }
  return reservedIn(account, bound);
}

/** The first retry of each round has been counted with its call. Null for any other call. */
async function continuedCall(
  { answeredStates }: Pick<PlaneServices, 'answeredStates'>,
  { key: { organisationId }, retried, now }: LimitedCall,
): Promise<ReservedCall | null> {
  if (retried === null || !(await answeredStates.answer(organisationId, retried, now))) return null;
  const undo = (): void => {
    detach('withdrawing a retry', answeredStates.withdraw(organisationId, retried));
  };
  return { settle: () => {}, undo };
}

function reservedIn(account: Account, { inputTokens }: UsageBound): ReservedCall {
  const usage = {
    inputTokens,
    outputTokens: 0,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    costUnits: 0,
  };
  return {
    settle: () => account.settle(usage),
    undo: () => {
      account.release();
      account.uncount();
    },
  };
}

function boundOf({ params }: LimitedCall, limits: readonly Limit[]): UsageBound {
  const hasTokens = limits.some(({ type }) => type === 'tokens');
  const inputTokens = hasTokens ? tokensOf(params.arguments) : 0;
  return {
    inputTokens,
    likelyInputTokens: inputTokens,
    outputTokens: 0,
    outputTokensMin: 0,
    price: null,
  };
}

function tokensOf(args: unknown = {}): number {
  return Math.ceil(JSON.stringify(args).length / charsPerToken);
}

/** Tokens and cost of keys and workspaces are those of models, which a tool call does not use. */
function limitsOf(
  { enforcesLimits: isHard, limitsBy }: Pick<PlaneServices, 'enforcesLimits' | 'limitsBy'>,
  call: LimitedCall,
  policies: readonly PolicyTerms[],
): Limit[] {
  const { key, now } = call;
  const { budgets, rates } = key.terms;
  const limits: Limit[] = rates.flatMap((terms) => [
    ...limitsOfRates(terms, terms.valueKey ?? '', now, isHard),
  ]);
  if (limitsBy.usageLimits) {
    for (const terms of budgets)
      limits.push(limitOfBudget(terms, terms.valueKey ?? '', now, isHard));
  }
  const own = limits.filter(({ type }) => type === 'requests');
  const facts = policies.length === 0 ? new Map() : factsOf(call);
  for (const policy of policies) {
    if (policy.workspaceId !== null && policy.workspaceId !== key.workspace?.id) continue;
    own.push(...policyLimits(policy, limitsOfPolicy(policy, facts, now, isHard)));
  }
  return own;
}

/** @throws PlaneFault for a budget in tokens or cost that is meant for tool calls */
function policyLimits(policy: PolicyTerms, limits: readonly Limit[]): readonly Limit[] {
  const countable = limits.filter(({ type, isRate }) => isRate || type === 'requests');
  if (countable.length === limits.length) return limits;
  const named = [...policy.conditions, ...policy.groupBy].map(({ key }) => key);
  const isMeant = named.some((key) => toolKeys.some((one) => one === key));
  if (!isMeant || !limits[0]!.isHard) return countable;
  const { label, type } = limits[0]!;
  const message = `The ${label} limits ${type}, which tool calls do not have; limit requests instead`;
  throw new PlaneFault('limit_unenforceable', message);
}

/** The values that policy conditions can match, by key. */
function factsOf({ key, server, tool, metadata }: LimitedCall): RequestFacts {
  const facts = new Map<string, readonly string[]>([
    ['api_key', [key.id, key.name]],
    ['organisation_id', [key.organisationId]],
    ['mcp_server', [server.id, server.slug]],
    ['mcp_tool', [tool, `${server.slug}/${tool}`]],
  ]);
  if (key.workspace !== null) facts.set('workspace_id', [key.workspace.id, key.workspace.slug]);
  for (const name in metadata) facts.set(`metadata.${name}`, [String(metadata[name])]);
  return facts;
}
