/** Defines the errors that the MCP gateway sends: HTTP status, JSON-RPC code and public message. */

/** Status and JSON-RPC code of each error of the gateway's own rules. */
const forms = {
  parse_error: { status: 400, rpcCode: -32700 },
  invalid_message: { status: 400, rpcCode: -32600 },
  header_mismatch: { status: 400, rpcCode: -32020 },
  version_missing: { status: 400, rpcCode: -32602 },
  version_unsupported: { status: 400, rpcCode: -32022 },
  meta_invalid: { status: 400, rpcCode: -32602 },
  capability_missing: { status: 400, rpcCode: -32021 },
  token_invalid: { status: 401, rpcCode: -32000 },
  origin_forbidden: { status: 403, rpcCode: -32000 },
  user_forbidden: { status: 403, rpcCode: -32000 },
  token_required: { status: 403, rpcCode: -32000 },
  limit_unenforceable: { status: 403, rpcCode: -32000 },
  server_not_found: { status: 404, rpcCode: -32000 },
  method_unknown: { status: 404, rpcCode: -32601 },
  session_not_found: { status: 404, rpcCode: -32001 },
  method_not_allowed: { status: 405, rpcCode: -32000 },
  not_acceptable: { status: 406, rpcCode: -32000 },
  content_type: { status: 415, rpcCode: -32000 },
  /** The peer of the same kind uses this code, which is outside of the codes that MCP reserves. */
  guardrail_denied: { status: 200, rpcCode: -32446 },
  definition_changed: { status: 200, rpcCode: -32446 },
  unknown_capability: { status: 200, rpcCode: -32602 },
  /** The client does not answer a question of the server. */
  input_refused: { status: 200, rpcCode: -32603 },
  invalid_params: { status: 200, rpcCode: -32602 },
  session_limit: { status: 429, rpcCode: -32000 },
  not_sent: { status: 200, rpcCode: -32600 },
  /** Hosts show the message of an error that is a success of HTTP, and with it the address to open. */
  connection_required: { status: 200, rpcCode: -32000 },
  user_required: { status: 403, rpcCode: -32000 },
  request_state_invalid: { status: 200, rpcCode: -32602 },
  token_unverified: { status: 503, rpcCode: -32000 },
  server_unusable: { status: 502, rpcCode: -32000 },
} as const;

export type PlaneFaultCode = keyof typeof forms;

export type RpcId = string | number | null;

interface PlaneFaultOptions extends ErrorOptions {
  /** Headers of the response; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly status?: number;
  readonly rpcCode?: number;
  /** Sent in place of the error: the question of a modern server. */
  readonly result?: Readonly<Record<string, unknown>>;
  /** Members of `error.data` beside the code. */
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Meant for the caller: the message quotes no credential. */
export class PlaneFault extends Error {
  override name = 'PlaneFault';
  /** In the log and in `error.data.code`. */
  readonly code: string;
  readonly status: number;
  readonly rpcCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: Readonly<Record<string, unknown>>;
  readonly result: Readonly<Record<string, unknown>> | undefined;

  constructor(code: PlaneFaultCode, message: string, options: PlaneFaultOptions = {}) {
    super(message, options);
    this.code = code;
    this.status = options.status ?? forms[code].status;
    this.rpcCode = options.rpcCode ?? forms[code].rpcCode;
    this.headers = options.headers ?? {};
    this.data = options.data ?? {};
    this.result = options.result;
  }
}

/** An error for a server that cannot be used; `why` is a clause whose subject is the server or what belongs to it. */
export function serverUnusable(why: string, options?: PlaneFaultOptions): PlaneFault {
  return new PlaneFault('server_unusable', `The MCP server cannot be used: ${why}`, options);
}

export function serverUnreachable(why: string, cause: unknown): PlaneFault {
  const message = `The MCP server cannot be reached: ${why}`;
  return new PlaneFault('server_unusable', message, { cause });
}

/** An error for a response whose status the client cannot use. */
export function serverFailed(status: number, options?: PlaneFaultOptions): PlaneFault {
  const message = `The MCP server responded with status ${status}`;
  return new PlaneFault('server_unusable', message, options);
}

export function serverBrokeOff(): PlaneFault {
  return new PlaneFault('server_unusable', 'The MCP server ended its response without a result');
}

/** The parts of an error that a JSON-RPC message contains. */
export type RpcFault = Pick<PlaneFault, 'code' | 'rpcCode' | 'message' | 'data'> &
  Partial<Pick<PlaneFault, 'result'>>;

/** The error as a JSON-RPC message. One for an unknown capability has no code, so that nothing tells two reasons apart. */
export function rpcErrorMessage(fault: RpcFault, id: RpcId): Record<string, unknown> {
  const { code, rpcCode, message, data, result } = fault;
  if (result !== undefined) return { jsonrpc: '2.0', id, result };
  const all = code === 'unknown_capability' ? data : { code, ...data };
  const error = { code: rpcCode, message };
  return {
    jsonrpc: '2.0',
    id,
    error: Object.keys(all).length === 0 ? error : { ...error, data: all },
  };
}
