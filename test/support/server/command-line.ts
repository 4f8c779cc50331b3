/**
 * Runs a command line within the test process, through the same entry point without the start-up
 * time.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { runCommandLine } from '../../../src/commands/command-line.ts';
import { exitCodes } from '../../../src/commands/shared/exit-codes.ts';
import type { TestServer } from './server.ts';

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Settings come from the process and from the `.env` of `cwd`. */
export async function runWords(words: readonly string[], cwd: string): Promise<CommandResult> {
  const [stdout, stderr] = [new CollectedOutput(), new CollectedOutput()];
  const ending = await runCommandLine(words, {
    stdin: Readable.from([]),
    stdout,
    stderr,
    cwd,
    signal: new AbortController().signal,
  });
  if (ending === 'interrupted') throw new Error('nobody has interrupted it');
  return { exitCode: exitCodes[ending], stdout: stdout.text, stderr: stderr.text };
}

class CollectedOutput extends Writable {
  text = '';

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.text += chunk.toString('utf8');
    done();
  }
}

/** Writes credentials for a server where commands that run in `cwd` find them. */
export function writeCredentials(cwd: string, server: TestServer, url = server.url): void {
  mkdirSync(join(cwd, '.gatewright'), { recursive: true });
  const { tsgId, clientId, clientSecret } = server;
  const credentials = { tsgId, clientId, clientSecret };
  const addresses = { baseUrl: `${url}/v1`, adminBaseUrl: url, authUrl: url };
  writeFileSync(
    join(cwd, '.gatewright/credentials.json'),
    JSON.stringify({ ...addresses, ...credentials }),
  );
}
