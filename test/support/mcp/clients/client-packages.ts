/** Installs published MCP clients and servers in `.cache/mcp-clients`, once per clone. */
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createOnce, installPackages, runInstaller } from '../../run/npm-packages.ts';
import { isLong } from '../../run/test-effort.ts';

const parent = resolve(import.meta.dirname, '../../../../.cache/mcp-clients');

const clientPackages = [
  '@modelcontextprotocol/inspector@2.12.0',
  '@ai-sdk/mcp@2.0.99',
  '@langchain/mcp-adapters@1.1.4',
  '@openai/agents-core@0.20.0',
  'mcp-remote@0.15.1',
];
const serverPackages = [
  '@modelcontextprotocol/server-everything@2026.8.31',
  '@modelcontextprotocol/server-filesystem@2026.8.31',
  '@modelcontextprotocol/server-memory@2026.8.31',
  'supergateway@4.0.0',
];
const pythonPackages = ['mcp==2.3.0', 'fastmcp==4.2.3'];

/** Named after the versions, so that other ones are installed anew. */
const folderOf = (name: string, packages: readonly string[]) =>
  join(parent, `${name}-${packages.map((one) => one.split(/@|==/).at(-1)).join('-')}`);
const clientFolder = folderOf('clients', clientPackages);
const serverFolder = folderOf('servers', serverPackages);
const pythonFolder = folderOf('python', pythonPackages);

/** The reason why the clients are not available; null if they are, possibly after an installation. */
export async function missingClients(): Promise<string | null> {
  const reason = await installPackages(clientFolder, clientPackages);
  return reason === null ? null : `the clients cannot be installed from npm (${reason})`;
}

export async function missingServers(): Promise<string | null> {
  const reason = await installPackages(serverFolder, serverPackages);
  return reason === null ? null : `the servers cannot be installed from npm (${reason})`;
}

/** They are the heaviest part of the suite, so they are left to long runs. */
export async function missingPythonClients(): Promise<string | null> {
  if (!isLong) {
    return 'GATEWRIGHT_TEST_LONG=ON runs them; they take about 20 s of processor time';
  }
  const reason = await createOnce(pythonFolder, async (draft) => {
    await runInstaller('python3', ['-m', 'venv', draft], parent);
    const flags = ['--quiet', '--no-input', '--no-compile', '--disable-pip-version-check'];
    const words = ['-m', 'pip', 'install', ...flags, ...pythonPackages];
    await runInstaller(join(draft, 'bin/python'), words, parent);
  });
  return reason === null ? null : `the Python clients cannot be installed (${reason})`;
}

/** Loads a module of the clients as Node loads it, without the test runner. */
export async function importClient(name: string): Promise<unknown> {
  const path = createRequire(join(clientFolder, 'package.json')).resolve(name);
  return await import(pathToFileURL(path).href);
}

export const clientProgram = (name: string) => join(clientFolder, 'node_modules/.bin', name);
export const serverProgram = (name: string) => join(serverFolder, 'node_modules/.bin', name);
export const python = join(pythonFolder, 'bin/python');
