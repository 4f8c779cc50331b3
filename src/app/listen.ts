/** Opens listeners and explains why one cannot be opened. */
import { Failure } from '../failure.ts';
import type { HttpServer } from '../http/server/server.ts';

const listenFaults: Record<string, string> = {
  EADDRINUSE: 'another program already listens there',
  EACCES: 'this user may not use that port',
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'that host name is unknown',
};

/** Resolves with the URL. @throws Failure when the address cannot be used */
export async function listen(
  server: Pick<HttpServer, 'listen'>,
  host: string,
  port: number,
  setting: string,
): Promise<string> {
  try {
    return await server.listen(host, port);
  } catch (error) {
    throw listenFailure(host, port, setting, error as Error);
  }
}

/** Explains why a server could not listen at the address that `setting` configures. */
export function listenFailure(host: string, port: number, setting: string, error: Error): Error {
  const fault = listenFaults[String((error as NodeJS.ErrnoException).code)];
  if (fault === undefined) return error;
  return new Failure(
    'invalidInput',
    `Cannot listen on ${host}:${port}: ${fault}. Change GATEWRIGHT_HOST or ${setting}; ` +
      'port 0 (--port 0) selects a free port.',
    { cause: error },
  );
}
