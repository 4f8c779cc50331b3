/** Checks whether a deployment responds at its address (docs/reference/resources.md, Deployments). */
import { z } from 'zod';
import { ApiError } from '../../model/wire/errors.ts';
import type { StoredGatewayDeployment } from '../../store/resources/gateway-deployments.ts';
import type { AdminDeps } from '../request/deps.ts';
import { readDeploymentSettings } from './deployment-record.ts';

/** Clients of the Admin API wait up to 30 s. */
const timeoutMs = 10_000;
/** Checks that this process runs at the same time. */
const runningMax = 32;

const Outcome = z.enum(['healthy', 'unhealthy']);

export const DeploymentPing = z.object({
  /** Equal to the status of `outbound`, because `inbound` is unknown. */
  status: Outcome,
  /** Empty when the deployment has no address. */
  gateway_base_url: z.string(),
  /** From this server to the deployment. */
  outbound: z.object({
    status: Outcome,
    status_code: z.int().optional(),
    error: z.string().optional(),
  }),
  /** From the deployment to this server. */
  inbound: z.object({ status: z.literal('unknown'), error: z.string() }),
  object: z.literal('deployment-ping'),
});

/** Statuses that a proxy returns when it cannot reach the gateway. */
const notReached = new Set([502, 503, 504]);

const addressMissing =
  'auth_settings.gateway_base_url is not set; set it with an update of the deployment';

function pingRecord(
  url: string,
  outbound: z.infer<typeof DeploymentPing>['outbound'],
): z.infer<typeof DeploymentPing> {
  return {
    status: outbound.status,
    gateway_base_url: url,
    outbound,
    inbound: { status: 'unknown', error: 'deployments do not report to this server' },
    object: 'deployment-ping',
  };
}

/** Sends no credential: a response that refuses the request also comes from a gateway. */
export class DeploymentPings {
  readonly #outbound: AdminDeps['outbound'];
  #running = 0;

  constructor(outbound: AdminDeps['outbound']) {
    this.#outbound = outbound;
  }

  async ping(row: StoredGatewayDeployment): Promise<z.infer<typeof DeploymentPing>> {
    const { gateway_base_url: url } = readDeploymentSettings(row);
    if (url === undefined) return pingRecord('', { status: 'unhealthy', error: addressMissing });
    if (this.#running >= runningMax) throw new ApiError('unavailable');
    this.#running += 1;
    const outbound = await this.#ask(url).finally(() => {
      this.#running -= 1;
    });
    return pingRecord(url, outbound);
  }

  async #ask(url: string): Promise<z.infer<typeof DeploymentPing>['outbound']> {
    try {
      const { status } = await this.#outbound.request({
        url,
        method: 'GET',
        headers: { accept: '*/*' },
        body: null,
        timeoutMs,
      });
      if (!notReached.has(status)) return { status: 'healthy', status_code: status };
      const error = `a proxy answers that it does not reach the gateway (${status})`;
      return { status: 'unhealthy', status_code: status, error };
    } catch (error) {
      return { status: 'unhealthy', error: (error as Error).message };
    }
  }
}
