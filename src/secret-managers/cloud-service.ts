/** Knows how the service of a cloud is asked: JSON back, over sockets that lead to no forbidden address, and what no answer means. */
import { Failure } from '../failure.ts';
import { type JsonResponse, JsonExchange } from '../remote/json-exchange.ts';
import { SecretUnreadable } from './kept-secret.ts';
import { type ManagerContext, managerCallLimits } from './manager.ts';

const answerBytesMax = 1024 * 1024;

/** `name` is what it is called where it does not answer. */
export function cloudService(address: URL, name: string, means: ManagerContext): JsonExchange {
  const { clock, pause, createConnector: connectorTo } = means;
  return new JsonExchange({
    ...{ address, responseBytesMax: answerBytesMax, clock, pause, limits: managerCallLimits, createConnector: connectorTo },
    tls: {},
    proxies: null,
    isUnavailable: (status) => status >= 500 || (status >= 300 && status < 400),
    isRetryLater: (status) => status === 429,
    honorsRetryAfter: false,
    describeUnavailable: ({ status }) => `it answers ${status}`,
    unreachable: (reason, cause) =>
      new Failure('unreachable', `${name} at ${address.origin} is out of reach: ${reason}`, {
        cause,
      }),
  });
}

/** `code` is what the service calls the refusal. */
export function refusal(what: string, { status }: JsonResponse, code: unknown): SecretUnreadable {
  const word = typeof code === 'string' ? `: ${code.slice(0, 200)}` : '';
  return new SecretUnreadable(`${what} (${status})${word}`, status === 429);
}

/** @throws SecretUnreadable in place of any other error. */
export async function telling<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SecretUnreadable) throw error;
    throw new SecretUnreadable((error as Error).message, true, { cause: error });
  }
}
