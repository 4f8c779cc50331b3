/** Declares the environment variables of the MCP gateway. */
import { z } from 'zod';
import * as forms from './forms.ts';
import { defaulted, optional } from './variable.ts';

const hostNames: forms.Form<string[]> = {
  ...forms.hostList,
  schema: forms.hostList.schema.transform((names) => names.map((name) => name.toLowerCase())),
  expected: 'host names separated by commas',
  example: 'mcp.example.com',
};

const issuers: forms.Form<string[]> = {
  schema: z
    .string()
    .max(8192)
    .transform((text) => text.split(',').map((entry) => entry.trim()))
    .refine((entries) =>
      entries.every((entry) => forms.webAddress.schema.safeParse(entry).success),
    ),
  expected: 'addresses that begin with https:// or http://, separated by commas',
  example: 'https://login.example.com',
};

export const mcpVariables = {
  GATEWRIGHT_MCP_PORT: optional(
    'MCP',
    { ...forms.listenPort, example: '8788' },
    'Port of the MCP gateway (/{server}/mcp). When unset: 8788. 0, or PORT=0, selects a free port.',
  ),
  GATEWRIGHT_MCP_CONNECTIONS_MAX: defaulted(
    'MCP',
    forms.integer(1, 1_000_000, '10000'),
    '10000',
    'Maximum number of connections to the MCP gateway; further ones receive 503 and are closed.',
  ),
  GATEWRIGHT_MCP_BODY_MIB_MAX: defaulted(
    'MCP',
    forms.integer(1, 64, '4'),
    '4',
    'Maximum size of a request body of the MCP gateway in MiB.',
  ),
  GATEWRIGHT_MCP_KEEP_ALIVE_SECONDS: defaulted(
    'MCP',
    forms.integer(1, 3600, '15'),
    '15',
    'Silence after which the MCP gateway sends a comment on a stream of events, so that proxies keep the connection.',
  ),
  GATEWRIGHT_MCP_HOSTS: defaulted(
    'MCP',
    hostNames,
    '',
    'Hosts whose pages may call the MCP gateway (Origin), and that may name it where it listens on this machine only (Host).',
  ),
  GATEWRIGHT_MCP_URL: optional(
    'MCP',
    { ...forms.webAddress, example: 'https://mcp.example.com' },
    'Address at which clients reach the MCP gateway, without the path of a server. Tokens must name it or a server below it as audience.',
  ),
  GATEWRIGHT_MCP_AUTHORIZATION_SERVERS: optional(
    'MCP',
    issuers,
    'Issuers at which MCP clients obtain tokens; named in the metadata of each server. When unset: GATEWRIGHT_JWT_ISSUER, if it is an address.',
  ),
  GATEWRIGHT_MCP_REPLICA_URL: optional(
    'MCP',
    forms.pattern(
      /^http:\/\/[\w.:[\]-]{1,255}$/,
      'an address that begins with http://, without a path',
      'http://10.0.0.7:8788',
    ),
    'Address at which other replicas reach this MCP gateway, to forward answers of clients to the calls that wait for them. When unset: that of the listener, or of the first network interface.',
  ),
};
