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
  return issues.flatMap(inNearestForm).map((issue) => ({
    path: issue.path.map((key) => (typeof key === 'number' ? key : String(key))),
    message:
      issue.code === 'invalid_union'
        ? `Invalid input: expected ${formsOf(issue).join(' or ')}`
        : issue.message,
  }));
}

/** Of a value that may have several forms: what is wrong in the one that it has, else itself. */
export function inNearestForm(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const near = issue.errors.find((found) => !found.some(isOfAnotherForm));
  if (near === undefined) return [issue];
  return near.map((one) => ({ ...one, path: [...issue.path, ...one.path] })).flatMap(inNearestForm);
}

function isOfAnotherForm({ code, path }: z.core.$ZodIssue): boolean {
  return path.length === 0 && ['invalid_type', 'invalid_value', 'invalid_union'].includes(code);
}

/** The types and values of which a value is none: `string`, `array`, `0`. */
export function formsOf(issue: z.core.$ZodIssue): string[] {
  const forms =
    issue.code === 'invalid_union'
      ? issue.errors.flat().flatMap(formsOf)
      : issue.code === 'invalid_type'
        ? [issue.expected]
        : issue.code === 'invalid_value'
          ? issue.values.map(String)
          : [];
  return [...new Set(forms)];
}
