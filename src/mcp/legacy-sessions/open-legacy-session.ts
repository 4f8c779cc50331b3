/** Opens sessions of the legacy era with servers. */
import { isObject } from '../../model/json/read-object.ts';
import { packageVersion } from '../../package-root.ts';
import type { LegacyClient } from '../messages/legacy-request.ts';
import { PlaneFault, serverFailed } from '../messages/plane-fault.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import type { ServerCall } from '../transfer/response-chunks.ts';
import { oneResponse, ServerSession, shortMs } from './legacy-session.ts';
import { type LegacyTransport, SessionLost } from './legacy-transport.ts';

/** The newest version of the era; a server may answer with an older one. */
const newestVersion = '2025-11-25';
const gatewayInfo = { name: 'gatewright', version: packageVersion() };
const sessionIdPattern = /^[\x21-\x7e]{1,1024}$/;

/** @throws PlaneFault */
export async function openLegacySession(
  transport: LegacyTransport,
  client: LegacyClient,
): Promise<ServerSession> {
  try {
    return await open(transport, client);
  } catch (error) {
    if (!(error instanceof SessionLost)) throw error;
    throw serverFailed(404, { cause: error });
  }
}

async function open(transport: LegacyTransport, client: LegacyClient): Promise<ServerSession> {
  const params = {
    protocolVersion: newestVersion,
    capabilities: client.capabilities,
    clientInfo: client.info ?? gatewayInfo,
  };
  const message = { jsonrpc: '2.0', id: 'initialize', method: 'initialize', params };
  const call = transport.send('POST', {}, message, shortMs);
  const { result } = await oneResponse(call, 'initialize', transport.beginReading());
  if (!isObject(result)) {
    throw new PlaneFault('server_unusable', 'The MCP server refuses to open a session');
  }
  const session = new ServerSession(transport, result, sessionHeaders(call, result));
  try {
    await session.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    if (client.logLevel !== null && isObject(session.capabilities.logging)) {
      await session.ask('logging/setLevel', { level: client.logLevel });
    }
    return session;
  } catch (error) {
    await session.end();
    throw error;
  }
}

function sessionHeaders(call: ServerCall, { protocolVersion }: RpcObject): Record<string, string> {
  const id = call.headers['mcp-session-id'];
  const version = typeof protocolVersion === 'string' ? protocolVersion : newestVersion;
  const headers: Record<string, string> = {};
  if (/^\d{4}-\d{2}-\d{2}$/.test(version)) headers['mcp-protocol-version'] = version;
  if (typeof id === 'string' && sessionIdPattern.test(id)) headers['mcp-session-id'] = id;
  return headers;
}
