/** Defines faults: errors in a request body or manifest, each with the path of the value. */
import type { z } from 'zod';

/** `path` leads from the body to the invalid value; `message` completes it: "is not a pattern". */
export interface Fault {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Puts `path` in front of the path of every fault. */
export function prefixFaults(
  path: readonly (string | number)[],
  faults: readonly Fault[],
): Fault[] {
  return faults.map((fault) => ({ ...fault, path: [...path, ...fault.path] }));
}

/** Returns the fault of one field, or no fault when `message` is null. */
export function faultAt(field: string, message: string | null): Fault[] {
  return message === null ? [] : [{ path: [field], message }];
}

/** Converts issues of a zod schema to faults. */
export function faultsOfIssues(issues: readonly z.core.$ZodIssue[]): Fault[] {
  return issues.flatMap(issuesOfNearestVariant).map((issue) => ({
    path: issue.path.map((key) => (typeof key === 'number' ? key : String(key))),
    message: messageOf(issue),
  }));
}

function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value') return `must be ${oneOf(issue.values.map(String))}`;
  if (issue.code !== 'invalid_union') return issue.message;
  return `Invalid input: expected ${expectedForms(issue).join(' or ')}`;
}

function oneOf(values: readonly string[]): string {
  return values.length === 1 ? values[0]! : `one of ${values.join(', ')}`;
}

/**
 * Replaces an issue of a union by the issues of the variant that the value resembles. Returns the
 * issue itself when the value resembles no variant.
 */
export function issuesOfNearestVariant(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const near = issue.errors.find((issues) => !issues.some(isOfAnotherVariant));
  if (near === undefined) return [issue];
  return near
    .map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }))
    .flatMap(issuesOfNearestVariant);
}

function isOfAnotherVariant({ code, path }: z.core.$ZodIssue): boolean {
  return path.length === 0 && ['invalid_type', 'invalid_value', 'invalid_union'].includes(code);
}

/** The types and values that the schema accepts instead: `string`, `array`, `0`. */
export function expectedForms(issue: z.core.$ZodIssue): string[] {
  const forms =
    issue.code === 'invalid_union'
      ? issue.errors.flat().flatMap(expectedForms)
      : issue.code === 'invalid_type'
        ? [issue.expected]
        : issue.code === 'invalid_value'
          ? issue.values.map(String)
          : [];
  return [...new Set(forms)];
}
