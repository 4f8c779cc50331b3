/** Starts a published MCP server that speaks stdio, behind a bridge that serves it over HTTP. */
import { once } from 'node:events';
import { spawnWithLeash } from '../../../../src/embedded/leash.ts';
import { findFreePort } from '../../database/database-server.ts';
import { serverProgram } from './client-packages.ts';

interface StdioServer extends AsyncDisposable {
  readonly url: string;
}

/** Each session has a process of its own. */
export async function startStdioServer(
  name: string,
  words: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<StdioServer> {
  const port = String(await findFreePort());
  const command = [process.execPath, serverProgram(name), ...words];
  const transport = ['--outputTransport', 'streamableHttp', '--stateful', '--port', port];
  const all = [serverProgram('supergateway'), '--stdio', command.join(' '), ...transport];
  const env = { ...process.env, ...variables };
  const { child } = spawnWithLeash([process.execPath, ...all], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
  let log = '';
  const read = (chunk: Buffer) => {
    log += chunk;
    if (log.includes('Listening on port')) resolve();
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  const closed = once(child, 'close');
  child.once('close', () => reject(new Error(`The bridge of ${name} has ended: ${log}`)));
  await listening;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await closed;
    },
  };
}
