/** Knows why runs fail, as callers read it; a limit of the gateway is one of those that come back. */

export interface RunFailure {
  readonly code: string;
  readonly message: string;
}

const messageCharsMax = 2_000;

const codes = new Map([
  [400, 'invalid_prompt'],
  [422, 'invalid_prompt'],
  [446, 'invalid_prompt'],
  [412, 'rate_limit_exceeded'],
  [429, 'rate_limit_exceeded'],
]);

/** Of a model that has refused; `status` is that of its answer, null for none. */
export function failureOf({ status, message }: Refusal): RunFailure {
  const code = status === null ? undefined : codes.get(status);
  return { code: code ?? 'server_error', message: message.slice(0, messageCharsMax) };
}

interface Refusal {
  readonly status: number | null;
  readonly message: string;
}
