/** Installs LiteLLM in `.cache` and has it translate cases at a provider of its own. */
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { createOnce, runInstaller } from '../../support/run/npm-packages.ts';
import { isLong } from '../../support/run/test-effort.ts';
import type { CallerName, Json } from './conversation.ts';

const version = '1.110.2';
/** It reads the frames of Bedrock with it. */
const packages = [`litellm==${version}`, 'boto3==1.44.8'];
const parent = resolve(import.meta.dirname, '../../../.cache');
const folder = join(parent, `litellm-${version}`);

/** The reason why LiteLLM is not available; null if it is, possibly after an installation. */
export async function missingPeer(): Promise<string | null> {
  if (!isLong) return 'GATEWRIGHT_TEST_LONG=ON runs it; it takes about a minute of processor time';
  const reason = await createOnce(folder, async (draft) => {
    await runInstaller('python3', ['-m', 'venv', draft], parent);
    const flags = ['--quiet', '--no-input', '--disable-pip-version-check'];
    const words = ['-m', 'pip', 'install', ...flags, ...packages];
    await runInstaller(join(draft, 'bin/python'), words, parent);
  });
  return reason === null ? null : `LiteLLM cannot be installed from PyPI (${reason})`;
}

export interface PeerCase {
  readonly id: string;
  readonly from: CallerName;
  /** With its provider before a slash. */
  readonly model: string;
  readonly stream: boolean;
  readonly request: Json;
  /** Bytes of the provider's answer in base64. */
  readonly answer: string;
  readonly contentType: string;
}

export interface PeerResult {
  readonly id: string;
  /** Body that the provider received; null for none. */
  readonly sent: Json | null;
  readonly answer?: Json;
  readonly events?: readonly Json[];
  readonly error?: string;
}

/** Nothing listens there, so that calls to other hosts than this one fail. */
const nowhere = 'http://127.0.0.1:1';

/** Results by the id of the case. */
export async function translateByPeer(
  cases: readonly PeerCase[],
): Promise<ReadonlyMap<string, PeerResult>> {
  const program = join(import.meta.dirname, 'peer.py');
  const child = spawn(join(folder, 'bin/python'), [program], {
    env: {
      PATH: process.env.PATH,
      LANG: 'C.UTF-8',
      HTTP_PROXY: nowhere,
      HTTPS_PROXY: nowhere,
      NO_PROXY: '127.0.0.1',
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const exited = Promise.withResolvers<number | null>();
  child.once('close', exited.resolve).once('error', exited.reject);
  child.stdin.end(cases.map((one) => `${JSON.stringify(one)}\n`).join(''));
  const [output, errors, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    exited.promise,
  ]);
  if (code !== 0) throw new Error(`LiteLLM ended with ${code}: ${errors.slice(-2000)}`);
  const results = output.split('\n').filter((line) => line !== '');
  return new Map(results.map((line) => JSON.parse(line) as PeerResult).map((one) => [one.id, one]));
}
