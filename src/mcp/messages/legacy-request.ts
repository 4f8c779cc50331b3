/** Reads a request of the modern era, and forms the parameters that a server of the legacy era receives. */
import { digitsOf } from '../../model/json/exact-numbers.ts';
import { isObject } from '../../model/json/read-object.ts';
import { PlaneFault, type RpcId } from './plane-fault.ts';
import { capabilitiesMember } from './protocol-meta.ts';
import type { RpcObject } from './read-messages.ts';
import { firstModernVersion, versionMember } from './verify-headers.ts';

/** Members of `_meta` with this prefix belong to the modern era. */
const eraPrefix = 'io.modelcontextprotocol/';
const infoMember = 'io.modelcontextprotocol/clientInfo';
const logLevelMember = 'io.modelcontextprotocol/logLevel';

/** From the least severe to the most severe. */
const logLevels = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const;

export type McpLogLevel = (typeof logLevels)[number];

/** Methods of the legacy era that a legacy server would serve, and that the modern era does not have. */
const removedMethods: ReadonlySet<string> = new Set([
  'initialize',
  'logging/setLevel',
  'ping',
  'resources/subscribe',
  'resources/unsubscribe',
]);
/** Methods whose result may ask the client for input. */
const askingMethods: ReadonlySet<string> = new Set(['prompts/get', 'resources/read', 'tools/call']);

/** The client as a legacy server sees it when a session is opened. */
export interface LegacyClient {
  readonly capabilities: RpcObject;
  /** Null for a client that gives none. */
  readonly info: RpcObject | null;
  /** Null for no log messages. */
  readonly logLevel: McpLogLevel | null;
}

export interface ModernRequest {
  readonly id: RpcId;
  readonly method: string;
  readonly client: LegacyClient;
  /** Null for a request without progress. */
  /** A text or a number, perhaps with more digits than JavaScript has; null for none. */
  readonly progressToken: unknown;
  /** Whether the result may ask the client for input. */
  readonly mayAsk: boolean;
  /** Parameters for the legacy server. */
  readonly params: RpcObject;
  /** Answers of the client to the questions of the result before; null for none. */
  readonly inputResponses: RpcObject | null;
  readonly requestState: string | null;
}

/** @throws PlaneFault for another version, a missing member or a removed method */
export function readModernRequest(message: RpcObject): ModernRequest {
  const { id, method } = message;
  const { _meta: meta, inputResponses, requestState, ...params } = objectOf(message.params);
  const client = clientIn(objectOf(meta));
  const name = String(method);
  if (removedMethods.has(name) || name.startsWith('tasks/')) throw unknownMethod(name);
  const mayAsk = askingMethods.has(name);
  const others = Object.entries(objectOf(meta)).filter(([key]) => !key.startsWith(eraPrefix));
  const { progressToken } = objectOf(meta);
  return {
    id: id as RpcId,
    method: name,
    client,
    progressToken: isToken(progressToken) ? progressToken : null,
    mayAsk,
    params: others.length === 0 ? params : { ...params, _meta: Object.fromEntries(others) },
    inputResponses: mayAsk ? answersIn(inputResponses) : null,
    requestState: mayAsk ? stateIn(requestState) : null,
  };
}

function isToken(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || digitsOf(value) !== null;
}

function unknownMethod(method: string): PlaneFault {
  return new PlaneFault('method_unknown', `Method not found: ${method}`);
}

/** Whether a log message is severe enough for the client. */
export function isLogged(level: unknown, least: McpLogLevel | null): boolean {
  if (least === null) return false;
  const at = logLevels.indexOf(level as McpLogLevel);
  return at < 0 || at >= logLevels.indexOf(least);
}

function clientIn(meta: RpcObject): LegacyClient {
  const version = meta[versionMember];
  if (typeof version !== 'string') throw missing(versionMember);
  if (version !== firstModernVersion) {
    const data = { supported: [firstModernVersion], requested: version };
    throw new PlaneFault('version_unsupported', `Unsupported protocol version: ${version}`, {
      data,
    });
  }
  const declared = meta[capabilitiesMember];
  if (!isObject(declared)) throw missing(capabilitiesMember);
  const { roots, sampling, elicitation, experimental } = declared;
  const info = meta[infoMember];
  const logLevel = meta[logLevelMember];
  return {
    // Changes of roots cannot be reported, and tasks and extensions differ between the eras.
    capabilities: presentMembers({
      roots: isObject(roots) ? {} : undefined,
      sampling,
      elicitation,
      experimental,
    }),
    info: isObject(info) ? info : null,
    logLevel: logLevels.find((one) => one === logLevel) ?? null,
  };
}

function presentMembers(members: RpcObject): RpcObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => isObject(value)));
}

function answersIn(value: unknown): RpcObject | null {
  if (value === undefined) return null;
  if (isObject(value)) return value;
  throw new PlaneFault('invalid_params', 'params.inputResponses must be an object');
}

function stateIn(value: unknown): string | null {
  if (value === undefined) return null;
  if (typeof value === 'string') return value;
  throw new PlaneFault('invalid_params', 'params.requestState must be a text');
}

function objectOf(value: unknown): RpcObject {
  return isObject(value) ? value : {};
}

function missing(member: string): PlaneFault {
  return new PlaneFault('meta_invalid', `params._meta["${member}"] is missing`);
}
