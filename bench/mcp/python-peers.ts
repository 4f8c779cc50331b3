/** Installs LiteLLM and ContextForge from PyPI in `.cache`, and starts each in front of an MCP server. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { SignJWT } from 'jose';
import { findFreePort } from '../../test/support/database/database-server.ts';
import { createOnce, runInstaller } from '../../test/support/run/npm-packages.ts';
import { type Contestant, pinned } from '../gateway/contestants.ts';
import { requestBytes } from '../gateway/load-client.ts';

export interface PythonPeer {
  readonly name: string;
  /** The smallest acceptable ratio of its processor time to ours. */
  readonly least: number;
  /** Calls of a round. */
  readonly count: number;
  /** Returns the reason why it is not available; null when it is installed. */
  install(): Promise<string | null>;
  start(mcpUrl: string): Promise<StartedPeer>;
}

interface StartedPeer extends AsyncDisposable {
  readonly contestant: Contestant;
  /** Encodes a call of `tool-7` with these arguments. */
  callBytes(args: object): Buffer;
}

const cache = resolve(import.meta.dirname, '../../.cache');
const programs = ['python3.12', 'python3.13', 'python3'];

/** The first Python that is new enough; null for none. */
async function findPython(oldestMinor: number): Promise<string | null> {
  const check = `import sys; sys.exit(sys.version_info < (3, ${oldestMinor}))`;
  for (const program of programs) {
    const works = await promisify(execFile)(program, ['-c', check]).then(
      () => true,
      () => false,
    );
    if (works) return program;
  }
  return null;
}

async function installFrom(
  requirement: string,
  folder: string,
  oldestMinor: number,
): Promise<string | null> {
  const reason = await createOnce(folder, async (draft) => {
    const python = await findPython(oldestMinor);
    if (python === null) throw new Error(`there is no Python 3.${oldestMinor} or later`);
    await runInstaller(python, ['-m', 'venv', draft], cache);
    const flags = ['--quiet', '--no-input', '--disable-pip-version-check'];
    await runInstaller(
      join(draft, 'bin/python'),
      ['-m', 'pip', 'install', ...flags, requirement],
      cache,
    );
  });
  return reason === null ? null : `${requirement} cannot be installed (${reason})`;
}

const readyMs = 120_000;
const pollMs = 200;

/** Starts a program of a virtual environment with one worker, and waits until the path answers. */
async function startProgram(
  [folder, program, ...words]: readonly [folder: string, program: string, ...words: string[]],
  port: number,
  env: Readonly<Record<string, string>>,
  healthPath: string,
): Promise<StartedPeerProcess> {
  const home = mkdtempSync(join(tmpdir(), 'peer-'));
  const [command, ...rest] = pinned([
    join(folder, 'bin/python'),
    join(folder, 'bin', program),
    ...words,
  ]);
  const child = spawn(command!, rest, {
    cwd: home,
    env: { PATH: process.env.PATH!, LANG: 'C.UTF-8', HOME: home, NO_PROXY: '127.0.0.1', ...env },
    stdio: 'ignore',
    // Some have processes of their own, which end with the group.
    detached: true,
  });
  const contestant = { url: `http://127.0.0.1:${port}`, pid: child.pid!, process: child };
  const dispose = async (): Promise<void> => {
    const { exitCode, signalCode } = child;
    if (exitCode === null && signalCode === null) {
      const ended = once(child, 'exit');
      process.kill(-child.pid!, 'SIGKILL');
      await ended;
    }
    rmSync(home, { recursive: true, force: true });
  };
  const isReady = (): Promise<boolean> =>
    fetch(contestant.url + healthPath).then(
      ({ ok }) => ok,
      () => false,
    );
  for (let waitedMs = 0; !(await isReady()); waitedMs += pollMs) {
    if (child.exitCode !== null || waitedMs > readyMs) {
      await dispose();
      throw new Error(`${program} does not serve ${healthPath}`);
    }
    await delay(pollMs);
  }
  return { contestant, dispose };
}

interface StartedPeerProcess {
  readonly contestant: Contestant;
  readonly dispose: () => Promise<void>;
}

const accept = 'application/json, text/event-stream';

function callOf(name: string, args: object, authorization: Record<string, string>): Buffer {
  const params = { name, arguments: args };
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
  return requestBytes({ accept, ...authorization }, message, '/mcp/');
}

const liteLlmVersion = '1.108.7';
const liteLlmFolder = join(cache, `litellm-proxy-${liteLlmVersion}`);
const liteLlmKey = 'sk-benchmark';

const liteLlm: PythonPeer = {
  name: 'LiteLLM',
  least: 40,
  count: 200,
  install: () => installFrom(`litellm[proxy]==${liteLlmVersion}`, liteLlmFolder, 10),
  start: async (mcpUrl) => {
    const port = await findFreePort();
    const folder = mkdtempSync(join(tmpdir(), 'litellm-'));
    const config = join(folder, 'config.yaml');
    const servers = { stub: { url: mcpUrl, transport: 'http', auth_type: 'none' } };
    // YAML contains JSON.
    const content = { general_settings: { master_key: liteLlmKey }, mcp_servers: servers };
    await writeFile(config, JSON.stringify(content));
    const words = ['--config', config, '--host', '127.0.0.1', '--port', String(port)];
    const { contestant, dispose } = await startProgram(
      [liteLlmFolder, 'litellm', ...words, '--telemetry', 'False'],
      port,
      { LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_LOG: 'ERROR' },
      '/health/liveliness',
    );
    return {
      contestant,
      callBytes: (args) =>
        callOf('stub-tool-7', args, { 'x-litellm-api-key': `Bearer ${liteLlmKey}` }),
      [Symbol.asyncDispose]: async () => {
        await dispose();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
};

const forgeVersion = '1.1.0';
const forgeFolder = join(cache, `contextforge-${forgeVersion}`);
const forgeSecret = 'a secret of the benchmark with more than forty characters';
const forgePassword = 'Bench-Mark-20-Words';
const forgeAdmin = 'admin@example.com';

async function forgeToken(): Promise<string> {
  const user = { email: forgeAdmin, is_admin: true, full_name: 'admin', auth_provider: 'local' };
  const claims = { sub: forgeAdmin, user, is_admin: true, token_use: 'session', teams: null };
  return await new SignJWT({ ...claims, jti: 'benchmark' })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuer('mcpgateway')
    .setAudience('mcpgateway-api')
    .setIssuedAt()
    .setExpirationTime('1d')
    .sign(new TextEncoder().encode(forgeSecret));
}

const contextForge: PythonPeer = {
  name: 'ContextForge',
  least: 100,
  count: 100,
  install: () => installFrom(`mcp-contextforge-gateway==${forgeVersion}`, forgeFolder, 12),
  start: async (mcpUrl) => {
    const port = await findFreePort();
    const { contestant, dispose } = await startProgram(
      [forgeFolder, 'mcpgateway', '--host', '127.0.0.1', '--port', String(port)],
      port,
      {
        DATABASE_URL: 'sqlite:///./forge.sqlite',
        JWT_SECRET_KEY: forgeSecret,
        AUTH_ENCRYPTION_SECRET: forgeSecret,
        BASIC_AUTH_PASSWORD: forgePassword,
        PLATFORM_ADMIN_EMAIL: forgeAdmin,
        PLATFORM_ADMIN_PASSWORD: forgePassword,
        DEFAULT_USER_PASSWORD: forgePassword,
        SSRF_ALLOW_LOCALHOST: 'true',
        SSRF_ALLOW_PRIVATE_NETWORKS: 'true',
        // Both limits count calls of a minute, of which a round has more.
        RATE_LIMITING_ENABLED: 'false',
        TOOL_RATE_LIMIT: '1000000',
        LOG_LEVEL: 'ERROR',
        DEV_MODE: 'true',
        ENVIRONMENT: 'development',
      },
      '/health',
    );
    const authorization = { authorization: `Bearer ${await forgeToken()}` };
    const registered = await fetch(`${contestant.url}/gateways`, {
      method: 'POST',
      headers: { ...authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'stub', url: mcpUrl, transport: 'STREAMABLEHTTP' }),
    });
    if (!registered.ok) {
      await dispose();
      throw new Error(`ContextForge registers no server: ${await registered.text()}`);
    }
    return {
      contestant,
      callBytes: (args) => callOf('stub-tool-7', args, authorization),
      [Symbol.asyncDispose]: dispose,
    };
  },
};

export const pythonPeers: readonly PythonPeer[] = [liteLlm, contextForge];
