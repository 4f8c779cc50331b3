/** Opens bounded JSON exchanges with cloud services, over connections that reach no forbidden address. */
/*
 * The SDKs of AWS and Azure are not used: their credential chains take 18 and 21 MB of memory when bundled, use their
 * own HTTP without our address guard, and fall back to environment keys, profiles and programs that a secret
 * reference must not reach.
 */
import { AwsUnavailable } from '../aws/aws-credentials.ts';
import { Failure } from '../failure.ts';
import { JsonExchange, type JsonResponse } from '../remote/json-exchange.ts';
import { SecretUnreadable } from './managed-secret.ts';
import { type ManagerContext, managerCallLimits } from './manager.ts';

const responseBytesMax = 1024 * 1024;

/** @param name of the service in error messages */
export function cloudService(address: URL, name: string, context: ManagerContext): JsonExchange {
  const { clock, pause, createConnector } = context;
  return new JsonExchange({
    address,
    responseBytesMax,
    clock,
    pause,
    limits: managerCallLimits,
    createConnector,
    tls: {},
    proxies: null,
    isUnavailable: (status) => status >= 500 || (status >= 300 && status < 400),
    isRetryLater: (status) => status === 429,
    honorsRetryAfter: false,
    describeUnavailable: ({ status }) => `it responds with ${status}`,
    unreachable: (reason, cause) =>
      new Failure('unreachable', `${name} at ${address.origin} is out of reach: ${reason}`, {
        cause,
      }),
  });
}

/** @param code of the error in the response of the service */
export function secretRefusal(
  message: string,
  { status }: JsonResponse,
  code: unknown,
): SecretUnreadable {
  const suffix = typeof code === 'string' ? `: ${code.slice(0, 200)}` : '';
  return new SecretUnreadable(`${message} (${status})${suffix}`, status === 429);
}

/** @throws SecretUnreadable instead of any other error */
export async function wrapErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SecretUnreadable) throw error;
    const isSilent = !(error instanceof AwsUnavailable) || error.isSilent;
    throw new SecretUnreadable((error as Error).message, isSilent, { cause: error });
  }
}
