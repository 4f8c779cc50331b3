/** Names the type of an error as Amazon Bedrock does, whose SDKs decide by it. */

const types = new Map([
  [400, 'ValidationException'],
  [401, 'AccessDeniedException'],
  [403, 'AccessDeniedException'],
  [404, 'ResourceNotFoundException'],
  [408, 'ModelTimeoutException'],
  [409, 'ConflictException'],
  [412, 'ServiceQuotaExceededException'],
  [429, 'ThrottlingException'],
  [503, 'ServiceUnavailableException'],
]);

/** `status` is that of an error. */
export function awsErrorType(status: number): string {
  return types.get(status) ?? (status >= 500 ? 'InternalServerException' : 'ValidationException');
}

/** Types of errors in the formats of OpenAI and Anthropic, by the exception that a stream has for them. */
const exceptions = new Map([
  ['invalid_request_error', 'validationException'],
  ['rate_limit_error', 'throttlingException'],
  ['overloaded_error', 'serviceUnavailableException'],
  ['timeout_error', 'modelTimeoutException'],
]);

/** The exception that ends a stream with an error; those of Bedrock keep their names. */
export function awsException(type: unknown): string {
  const name = String(type);
  return /^[a-z][A-Za-z]+Exception$/.test(name)
    ? name
    : (exceptions.get(name) ?? 'internalServerException');
}
