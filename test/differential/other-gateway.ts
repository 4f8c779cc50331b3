/** Starts the open-source gateway of the same kind from its npm package, on its own port. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface OtherGateway extends AsyncDisposable {
  /** `http://127.0.0.1:port` */
  readonly url: string;
}

const program = fileURLToPath(import.meta.resolve('@portkey-ai/gateway/build/start-server.js'));
const addressReporter = new URL('address-reporter.mjs', import.meta.url).href;

export async function startOtherGateway(): Promise<OtherGateway> {
  const child = fork(program, ['--headless', '--port=0'], {
    execArgv: ['--import', addressReporter],
    // It logs a stack trace for each response that it rejects.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const exited = once(child, 'exit');
  const [address] = await Promise.race([
    once(child, 'message'),
    exited.then(([code]) => Promise.reject(new Error(`it ended at once, with ${code}`))),
  ]);
  return {
    url: `http://127.0.0.1:${(address as { port: number }).port}`,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
