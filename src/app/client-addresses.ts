/** Finds the addresses at which clients reach inference and the MCP gateway. */
import type { Settings } from '../settings.ts';
import { inferencePort } from './gateway.ts';
import { mcpPort } from './mcp-plane.ts';

/** The configured address, else that of this machine; null when neither is known. */
export function inferenceAddress(settings: Pick<Settings, 'inference' | 'server'>): string | null {
  const { inference, server } = settings;
  return inference.publicUrl ?? addressOnThisMachine(server.host, inferencePort(settings));
}

/** The configured address, else that of this machine; null when neither is known. */
export function mcpAddress(settings: Pick<Settings, 'mcp' | 'server'>): string | null {
  const { mcp, server } = settings;
  return mcp.publicUrl ?? addressOnThisMachine(server.host, mcpPort(settings));
}

/** Null unless the listener is reachable from this machine only, at a known port. */
function addressOnThisMachine(host: string, port: number): string | null {
  if (!/^(?:localhost|127\..*|::1)$/.test(host) || port === 0) return null;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
