/** Names the status of an error as Google does. */

const statuses = new Map([
  [400, 'INVALID_ARGUMENT'],
  [401, 'UNAUTHENTICATED'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [405, 'UNIMPLEMENTED'],
  [408, 'DEADLINE_EXCEEDED'],
  [409, 'ABORTED'],
  [412, 'FAILED_PRECONDITION'],
  [429, 'RESOURCE_EXHAUSTED'],
  [446, 'FAILED_PRECONDITION'],
  [499, 'CANCELLED'],
  [500, 'INTERNAL'],
  [502, 'UNAVAILABLE'],
  [503, 'UNAVAILABLE'],
  [504, 'DEADLINE_EXCEEDED'],
]);

/** `httpStatus` is that of an error. */
export function rpcStatus(httpStatus: number): string {
  return statuses.get(httpStatus) ?? (httpStatus >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT');
}
