/** Describes rows of the log in words. */
import type { RowOf } from '../../api/client.ts';

export type LogRow = RowOf<'/v1/logs'>;

/** `server/tool` of an MCP call, else the model. */
export function calledName({ mcp_server, mcp_name, model, requested_model }: LogRow): string {
  if (mcp_server !== null) return mcp_name === null ? mcp_server : `${mcp_server}/${mcp_name}`;
  return model ?? requested_model ?? '–';
}

export const isHit = ({ cache_status }: LogRow): boolean => cache_status?.endsWith('HIT') ?? false;
