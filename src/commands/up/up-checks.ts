/** Checks home and open-file limit before `up` downloads, creates or migrates anything. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { isHeld } from '../../embedded/home-lock.ts';
import { Failure } from '../../failure.ts';
import { faultList } from '../../settings/reading/fault.ts';
import { inspectSettings, type Settings } from '../../settings.ts';
import type { RequestedPorts } from './up-ports.ts';

/** The database server opens up to 100 files; this process one for each connection. */
const openFilesMin = 256;

export interface UpSettings {
  readonly settings: Settings;
  /** Absolute path. */
  readonly home: string;
  readonly requestedPorts: RequestedPorts;
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
  const requestedPorts: RequestedPorts = new Set([
    ...(options.port !== undefined || given.has('PORT') ? (['api'] as const) : []),
    ...(given.has('GATEWRIGHT_METRICS_PORT') ? (['metrics'] as const) : []),
    ...(given.has('GATEWRIGHT_INFERENCE_PORT') ? (['inference'] as const) : []),
    ...(given.has('GATEWRIGHT_MCP_PORT') ? (['mcp'] as const) : []),
  ]);
  if (isNamed || !options.port) return { settings, home: usual, requestedPorts };
  const ofPort = `${usual}-${options.port}`;
  const home = existsSync(ofPort) || isHeld(usual) ? ofPort : usual;
  return { settings, home, requestedPorts };
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
