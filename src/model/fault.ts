/** Knows a fault in a body that its schema alone cannot see. */
import type { z } from 'zod';

/** `path` leads from the body to the value at fault; the message follows it: "is not a pattern". */
export interface Fault {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** The same faults, seen from further out. */
export function below(path: readonly (string | number)[], faults: readonly Fault[]): Fault[] {
  return faults.map((fault) => ({ ...fault, path: [...path, ...fault.path] }));
}

/** The fault of one field, or none where the message is null. */
export function faultAt(field: string, message: string | null): Fault[] {
  return message === null ? [] : [{ path: [field], message }];
}

/** What a schema found. */
export function faultsOfIssues(issues: readonly z.core.$ZodIssue[]): Fault[] {
  return issues.map(({ path, message }) => ({
    path: path.map((key) => (typeof key === 'number' ? key : String(key))),
    message,
  }));
}
