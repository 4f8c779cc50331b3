/** Defines a table of descriptions of operations. */

/** By method and path below the mount: `GET /guardrails/{guardrailId}`. */
export type OperationTexts = Readonly<Record<string, string>>;
