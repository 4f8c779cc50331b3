/** Holds what applies to an open session: key, target, limits and guardrails; reads it anew when something has changed. */
import type { CheckModelCalls } from '../../guardrails/check-model-calls.ts';
import type { Limit } from '../../ledger/limit.ts';
import type { ConfigLeaf } from '../../model/configs/config-tree.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { GatewayKey } from '../callers/gateway-key.ts';
import { sessionCheckCalls } from '../calls/checks/check-calls.ts';
import type { GatewayServices } from '../calls/request-context.ts';
import type { CallGuardrails } from '../guardrails/guardrails.ts';
import { limitsOf } from '../metering/limits.ts';
import type { GatewayConfig } from '../targets/resolve-config.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

export class SessionTerms {
  readonly exchange: Exchange;
  readonly config: GatewayConfig;
  readonly leaf: ConfigLeaf;
  readonly target: ResolvedTarget;
  /** Null when no guardrail judges. */
  readonly guardrails: CallGuardrails | null;
  readonly #services: GatewayServices;

  private constructor(
    services: GatewayServices,
    exchange: Exchange,
    config: GatewayConfig,
    leaf: ConfigLeaf,
    target: ResolvedTarget,
    guardrails: CallGuardrails | null,
  ) {
    this.#services = services;
    this.exchange = exchange;
    this.config = config;
    this.leaf = leaf;
    this.target = target;
    this.guardrails = guardrails;
  }

  /** @throws GatewayError when the target cannot be called with this key */
  static async resolve(
    services: GatewayServices,
    exchange: Exchange,
    config: GatewayConfig,
    leaf: ConfigLeaf,
  ): Promise<SessionTerms> {
    const target = await services.targets.resolve(leaf, exchange, config);
    const guardrails = await services.guardrails.of(exchange.key, leaf.settings.guardrails);
    return new SessionTerms(services, exchange, config, leaf, target, guardrails);
  }

  /**
   * The terms as they are now.
   *
   * @throws GatewayError when the session may not go on
   */
  async renew(key: GatewayKey, now: number): Promise<SessionTerms> {
    const exchange = { ...this.exchange, key, now };
    const renewed = await SessionTerms.resolve(this.#services, exchange, this.config, this.leaf);
    if (destinationOf(renewed) === destinationOf(this)) return renewed;
    const message = 'The address or the credential of the provider has changed; connect again';
    throw new GatewayError('conflict', message);
  }

  /** The limits that a response started now counts in. Synchronous while the policies are cached. */
  limitsAt(now: number): readonly Limit[] | Promise<readonly Limit[]> {
    const policies = this.#services.policies.of(this.exchange.key.organisationId);
    const limits = (known: Awaited<typeof policies>): readonly Limit[] => {
      const { enforcesLimits, limitsBy } = this.#services;
      const exchange = { ...this.exchange, now };
      return limitsOf(exchange, this.target, this.config, known, enforcesLimits, limitsBy);
    };
    return policies instanceof Promise ? policies.then(limits) : limits(policies);
  }

  /** Calls that checks of the guardrails make. */
  get modelCalls(): CheckModelCalls {
    return sessionCheckCalls(this.#services, this.exchange, this.config);
  }

  /** Whether the provider lets only some models be used. */
  get hasModelRules(): boolean {
    return this.target.workspaceProvider?.allowsAnyModel === false;
  }
}

function destinationOf({ target }: SessionTerms): string {
  const { origin, path, headers } = target.call;
  return JSON.stringify([origin, path, target.model, headers]);
}
