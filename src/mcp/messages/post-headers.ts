/** Defines the headers of messages to MCP servers. */

/** Headers of a POST to a server, which may answer in either form. */
export const postHeaders = {
  accept: 'application/json, text/event-stream',
  'content-type': 'application/json',
} as const;

/** {@link postHeaders} for a response that the gateway reads itself. */
export const readPostHeaders = { ...postHeaders, 'accept-encoding': 'identity' } as const;
