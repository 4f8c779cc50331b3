/** Starts gateways for tests, each in a process that can be killed. */
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { inject } from 'vitest';
import { Secret } from '../../src/secret.ts';
import type { MasterKeySettings } from '../../src/settings/groups/master-keys.ts';
import type { Settings } from '../../src/settings.ts';
import { databaseVariables } from '../support/database/database-variables.ts';
import { startProgram } from '../support/server/program-process.ts';

export interface GatewayProcess extends AsyncDisposable {
  readonly child: ChildProcess;
  /** `http://127.0.0.1:port`. */
  readonly inferenceUrl: string;
  readonly metricsUrl: string;
  /** Null when it does not relay MCP. */
  readonly mcpUrl: string | null;
  /** Kills it, and resolves once it is gone. */
  kill(): Promise<void>;
}

export interface GatewayProcessOptions {
  /** Database of the server that created the keys. */
  readonly settings: Settings;
  /** Private hosts that configs may name. */
  readonly trusted: string;
  /** Offset of its clock. */
  readonly clockOffMs?: number;
  /** Further settings of the gateway. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Port of inference; any free one by default. */
  readonly port?: number;
  /** Port of MCP, 0 for any free one; by default it does not relay MCP. */
  readonly mcpPort?: number;
  /** Folder of its log rows; by default they wait in memory. */
  readonly spoolDirectory?: string;
  /** Folder of its snapshot; by default it keeps none. */
  readonly snapshotDirectory?: string;
  /** By default inference, and MCP where it has a port. */
  readonly components?: string;
}

/** Resolves once it listens. Disposal stops it in order. */
export async function startGatewayProcess(options: GatewayProcessOptions): Promise<GatewayProcess> {
  const {
    settings,
    trusted,
    clockOffMs = 0,
    port: listenedPort = 0,
    mcpPort,
    spoolDirectory,
    snapshotDirectory,
    components = mcpPort === undefined ? 'gateway' : 'gateway,mcp',
  } = options;
  const words = ['serve', '--components', components, '--metrics-port', '0', '--port', '0'];
  const { child, ready, end } = await startProgram([inject('builtProgram'), ...words], {
    cwd: tmpdir(),
    stream: 'stderr',
    findReady: (line) => (line.includes('"inferenceUrl"') ? JSON.parse(line) : undefined),
    env: {
      ...databaseVariables(settings.database!),
      GATEWRIGHT_MASTER_KEY: settings.masterKeys!.current.reveal().toString('base64'),
      GATEWRIGHT_INFERENCE_PORT: String(listenedPort),
      GATEWRIGHT_MCP_PORT: String(mcpPort ?? 0),
      GATEWRIGHT_LAME_DUCK_SECONDS: '0',
      TRUSTED_CUSTOM_HOSTS: trusted,
      ...options.variables,
      ...(spoolDirectory !== undefined && { GATEWRIGHT_SPOOL_DIRECTORY: spoolDirectory }),
      ...(snapshotDirectory !== undefined && { GATEWRIGHT_SNAPSHOT_DIRECTORY: snapshotDirectory }),
      ...(clockOffMs !== 0 && { NODE_OPTIONS: clockOff(clockOffMs) }),
    },
  });
  const { inferenceUrl, metricsUrl, mcpUrl } = ready;
  return {
    child,
    inferenceUrl,
    metricsUrl,
    mcpUrl,
    kill: () => end('SIGKILL'),
    [Symbol.asyncDispose]: () => end('SIGTERM'),
  };
}

/** A random master key, as a real process has. */
export function newMasterKeys(): MasterKeySettings {
  const current = new Secret(randomBytes(32), 'test');
  const settings: MasterKeySettings = { current, previous: [], refresh: () => settings };
  return settings;
}

/** Node arguments that shift the clock of a process. */
function clockOff(ms: number): string {
  const shifted = `const real = Date.now; Date.now = () => real() + ${ms};`;
  return `--import=data:text/javascript,${encodeURIComponent(shifted)}`;
}
