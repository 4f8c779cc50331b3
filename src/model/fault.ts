/** Knows a fault in a body that its schema alone cannot see. */

/** `path` leads from the body to the value at fault; the message follows it: "is not a pattern". */
export interface Fault {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** The same faults, seen from further out. */
export function below(path: readonly (string | number)[], faults: readonly Fault[]): Fault[] {
  return faults.map((fault) => ({ ...fault, path: [...path, ...fault.path] }));
}
