/** Converts failures of a model or a search to failures of a run, as shown to callers. */

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

/** `status` is the status of the failed response; null without one. */
export function failureOf({ status, message }: Refusal): RunFailure {
  const code = status === null ? undefined : codes.get(status);
  return { code: code ?? 'server_error', message: message.slice(0, messageCharsMax) };
}

interface Refusal {
  readonly status: number | null;
  readonly message: string;
}
