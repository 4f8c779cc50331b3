/** Defines the `healthcheck` command, for container engines that run programs as probes. */
import { Failure } from '../../failure.ts';
import { readSettings, type Settings } from '../../settings.ts';
import type { Command } from '../shared/command.ts';
import { choiceOption, portOption } from '../shared/option.ts';

interface Options {
  port: number | undefined;
  probe: 'readyz' | 'livez' | 'startupz';
}

const answerTimeoutMs = 3_000;
const reasonsCharactersMax = 1_000;

export const healthcheck: Command<Options> = {
  examples: [
    ['gatewright healthcheck', 'Exit 0 when `serve` is ready, 6 when it is not or does not answer'],
    ['gatewright healthcheck --port 8090 --probe livez', 'Whether `sync` on port 8090 is alive'],
  ],
  options: {
    port: portOption(8080, { describe: 'Port of the probes', fallback: 'PORT, else 8080' }),
    probe: choiceOption(['readyz', 'livez', 'startupz'], { describe: 'What to ask' }),
  },
  run: async (options, io) => {
    const { server } = readSettings(undefined, { cwd: io.cwd });
    const url = `http://${localHost(server)}:${options.port ?? server.port}/${options.probe}`;
    const { status, text } = await ask(url, io.signal);
    const result = `${url} returns ${status}: ${text.slice(0, reasonsCharactersMax)}`;
    if (status !== 200) throw new Failure('unreachable', result);
    io.stdout.write(`${result}\n`);
    return 'success';
  },
};

/** A server that listens on all addresses is reached at the loopback address. */
function localHost({ host }: Settings['server']): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

async function ask(url: string, signal: AbortSignal): Promise<{ status: number; text: string }> {
  try {
    const answer = await fetch(url, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(answerTimeoutMs)]),
    });
    return { status: answer.status, text: await answer.text() };
  } catch (error) {
    const { name, message, cause } = error as Error;
    const reason =
      name === 'TimeoutError'
        ? `within ${answerTimeoutMs / 1000} s`
        : `(${(cause as NodeJS.ErrnoException | undefined)?.code ?? message})`;
    throw new Failure('unreachable', `${url} does not answer ${reason}`, { cause: error });
  }
}
