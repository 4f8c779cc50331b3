/** Knows how it is found out whether a deployment answers where it says it is (docs/reference/resources.md, Deployments). */
import { z } from 'zod';
import { ApiError } from '../../model/wire/errors.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { StoredGatewayDeployment } from '../../store/resources/gateway-deployments.ts';
import type { AdminDeps } from '../request/deps.ts';
import { readSettings } from './deployment-record.ts';

/** Clients of the Admin API wait for half a minute. */
const timeoutMs = 10_000;
/** Deployments that are asked at once, by this process. */
const askedMax = 32;

const Outcome = z.enum(['healthy', 'unhealthy']);

export const DeploymentPing = z.object({
  /** That of `outbound`, because nobody knows of the other direction. */
  status: Outcome,
  gateway_base_url: z.string(),
  /** From here to the deployment. */
  outbound: z.object({
    status: Outcome,
    status_code: z.int().optional(),
    error: z.string().optional(),
  }),
  /** From the deployment to here. */
  inbound: z.object({ status: z.literal('unknown'), error: z.string() }),
  object: z.literal('deployment-ping'),
});

/** What a proxy says in the place of a gateway that it cannot reach. */
const notReached = new Set([502, 503, 504]);

/** Asks without a credential: an answer that refuses one comes from a gateway, too. */
export class DeploymentPings {
  readonly #outbound: AdminDeps['outbound'];
  #asked = 0;

  constructor(outbound: AdminDeps['outbound']) {
    this.#outbound = outbound;
  }

  async ping(row: StoredGatewayDeployment): Promise<z.infer<typeof DeploymentPing>> {
    const { gateway_base_url: url } = readSettings(row);
    if (url === undefined) {
      throw validationError({
        path: ['auth_settings', 'gateway_base_url'],
        message: 'is not set, so that nobody knows where to ask; update the deployment with it',
      });
    }
    if (this.#asked >= askedMax) throw new ApiError('unavailable');
    this.#asked += 1;
    const outbound = await this.#ask(url).finally(() => {
      this.#asked -= 1;
    });
    return {
      ...{ status: outbound.status, gateway_base_url: url, outbound },
      inbound: { status: 'unknown', error: 'deployments do not report to this server' },
      object: 'deployment-ping',
    };
  }

  async #ask(url: string): Promise<z.infer<typeof DeploymentPing>['outbound']> {
    try {
      const { status } = await this.#outbound.request({
        ...{ url, method: 'GET', headers: { accept: '*/*' }, body: null, timeoutMs },
      });
      if (!notReached.has(status)) return { status: 'healthy', status_code: status };
      const error = `a proxy answers that it does not reach the gateway (${status})`;
      return { status: 'unhealthy', status_code: status, error };
    } catch (error) {
      return { status: 'unhealthy', error: (error as Error).message };
    }
  }
}
