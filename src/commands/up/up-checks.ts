/** Checks home, open-file limit and ports before `up` downloads, creates or migrates anything. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { inferencePort } from '../../app/gateway.ts';
import { listenFailure } from '../../app/listen.ts';
import { isHeld } from '../../embedded/home-lock.ts';
import { Failure } from '../../failure.ts';
import { faultList } from '../../settings/reading/fault.ts';
import { inspectSettings, type Settings } from '../../settings.ts';

/** The database server opens up to 100 files; this process one for each connection. */
const openFilesMin = 256;

export interface UpSettings {
  readonly settings: Settings;
  /** Absolute path. */
  readonly home: string;
  /** Whether metrics may use another port, because the default port was not requested explicitly. */
  readonly isMetricsPortFree: boolean;
}

/**
 * The settings and the home. With --port, while another process uses the default home, the home gets
 * the port as a suffix and stays the home of that port.
 *
 * @throws Failure that lists every fault of the settings
 */
export function readUpSettings(
  cwd: string,
  options: { readonly home: string | undefined; readonly port: number | undefined },
): UpSettings {
  const { settings, faults, given } = inspectSettings(undefined, { cwd });
  if (faults.length > 0) throw new Failure('invalidInput', faultList(faults));
  const usual = resolve(cwd, options.home ?? settings.home);
  const isNamed = options.home !== undefined || given.has('GATEWRIGHT_HOME');
  const isMetricsPortFree = !given.has('GATEWRIGHT_METRICS_PORT');
  if (isNamed || !options.port) return { settings, home: usual, isMetricsPortFree };
  const ofPort = `${usual}-${options.port}`;
  const home = existsSync(ofPort) || isHeld(usual) ? ofPort : usual;
  return { settings, home, isMetricsPortFree };
}

/** @throws Failure when the open-file limit is too low for a server and a database server */
export function requireOpenFiles(): void {
  // The report would otherwise resolve host names of open connections.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as unknown as {
    userLimits?: { open_files?: { soft: number | string } };
  };
  const limit = Number(userLimits?.open_files?.soft);
  if (Number.isNaN(limit) || limit >= openFilesMin) return;
  throw new Failure(
    'invalidInput',
    `this process may open ${limit} files at a time; gatewright and its database need ` +
      `${openFilesMin} or more. Raise the limit before the start: ulimit -n 1024`,
  );
}

/**
 * The ports to listen on, each just found to be free.
 *
 * @throws Failure that names a requested port that cannot be used
 */
export async function choosePorts(
  server: Settings['server'],
  isMetricsPortFree: boolean,
  progress: (line: string) => void,
): Promise<Settings['server']> {
  const { host, port, metricsPort } = server;
  const apiFault = await tryPort(host, port);
  if (apiFault !== null) throw listenFailure(host, port, 'PORT', apiFault);
  const fault =
    port === metricsPort && port !== 0
      ? Object.assign(new Error('taken by the API'), { code: 'EADDRINUSE' })
      : await tryPort(host, metricsPort);
  if (fault === null) return server;
  if (!isMetricsPortFree) {
    throw listenFailure(host, metricsPort, 'GATEWRIGHT_METRICS_PORT', fault);
  }
  progress(`port ${metricsPort} is taken: metrics go to a free one (GATEWRIGHT_METRICS_PORT)`);
  return { ...server, metricsPort: 0 };
}

/** The inference settings with a port just found to be free; throws like {@link choosePorts}. */
export async function chooseInferencePort(
  settings: Pick<Settings, 'server' | 'inference'>,
  progress: (line: string) => void,
): Promise<Settings['inference']> {
  const { inference, server } = settings;
  const port = inferencePort(settings);
  const isTaken = port !== 0 && [server.port, server.metricsPort].includes(port);
  const fault = isTaken
    ? Object.assign(new Error('taken by another listener'), { code: 'EADDRINUSE' })
    : await tryPort(server.host, port);
  if (fault === null) return { ...inference, port };
  if (inference.port !== null) {
    throw listenFailure(server.host, port, 'GATEWRIGHT_INFERENCE_PORT', fault);
  }
  progress(`port ${port} is in use: inference uses a free port (GATEWRIGHT_INFERENCE_PORT)`);
  return { ...inference, port: 0 };
}

/** The error of a listen attempt; null on success. */
async function tryPort(host: string, port: number): Promise<Error | null> {
  const probe = createServer();
  try {
    await once(probe.listen(port, host), 'listening');
    return null;
  } catch (error) {
    return error as Error;
  } finally {
    probe.close();
  }
}
