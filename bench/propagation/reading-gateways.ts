/** Starts gateways that read one database, and asks each of them. */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { request } from 'undici';
import { firstLine } from '../product.ts';

export interface ReadingGateway {
  readonly inferenceUrl: string;
  readonly metricsUrl: string;
}

export interface ReadingGateways extends Disposable {
  readonly gateways: readonly ReadingGateway[];
}

const script = resolve(import.meta.dirname, 'readers.ts');

export async function startReadingGateways(
  env: Readonly<Record<string, string>>,
  processes: number,
  gatewaysOfProcess: number,
): Promise<ReadingGateways> {
  const ports = { PORT: '0', GATEWRIGHT_METRICS_PORT: '0', GATEWRIGHT_INFERENCE_PORT: '0' };
  const children = Array.from({ length: processes }, () =>
    spawn(process.execPath, [script, String(gatewaysOfProcess)], {
      env: { ...env, ...ports, DB_POOL_SIZE: '2' },
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  const end = (): void => {
    for (const child of children) child.removeAllListeners('exit').kill('SIGKILL');
  };
  try {
    const lines = await Promise.all(
      children.map((child) => firstLine(child, child.stdout, (line) => line)),
    );
    const gateways = lines.flatMap((line) => JSON.parse(line) as ReadingGateway[]);
    return { gateways, [Symbol.dispose]: end };
  } catch (error) {
    end();
    throw error;
  }
}

/** Whether the gateway accepts the key. */
export async function accepts({ inferenceUrl }: ReadingGateway, key: string): Promise<boolean> {
  const { statusCode, body } = await request(`${inferenceUrl}/v1/models`, {
    headers: { authorization: `Bearer ${key}` },
  });
  await body.dump();
  return statusCode !== 401;
}

/** Observed times until changes were in force: numbers of changes by upper bound in seconds, not cumulative. */
export async function readPropagation({
  metricsUrl,
}: ReadingGateway): Promise<ReadonlyMap<number, number>> {
  const { body } = await request(`${metricsUrl}/metrics`);
  const pattern = /^gatewright_config_propagation_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm;
  const found = new Map<number, number>();
  let before = 0;
  for (const [, bound, count] of (await body.text()).matchAll(pattern)) {
    found.set(bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound), Number(count) - before);
    before = Number(count);
  }
  return found;
}
