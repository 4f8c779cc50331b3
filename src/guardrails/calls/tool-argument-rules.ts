/** Judges calls of tools by rules on their arguments: patterns that values at a JSON path must or must not match. */

import { findDuplicateKeys } from '../../model/json/json-object.ts';
import { type JsonPath, parseJsonPath, valuesAtPath } from '../../model/json/json-path.ts';
import { longLengthMin, run } from '../../slices.ts';
import { argumentsOf, type ToolCall } from './tool-calls.ts';

/** A rule as a guardrail contains it. */
interface WrittenRule {
  readonly tools?: readonly string[];
  readonly path: string;
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  readonly required?: boolean;
}

export interface ToolArgumentParameters {
  readonly allowedTools?: readonly string[];
  readonly blockedTools?: readonly string[];
  readonly rules?: readonly WrittenRule[];
}

export interface ToolRules {
  readonly isAllowed: (tool: string) => boolean;
  readonly rules: readonly ArgumentRule[];
}

interface ArgumentRule extends WrittenRule {
  readonly covers: (tool: string) => boolean;
  readonly steps: JsonPath;
}

/** Searches a text for a pattern in linear time. */
export type FindPattern = (pattern: string, text: string) => boolean | Promise<boolean>;

/** Values at one path; a call with more cannot be judged. */
const valuesMax = 1_000;

/** @throws Error for a path that is not valid, which only versions before validation stored */
export function readToolRules({
  allowedTools,
  blockedTools = [],
  rules = [],
}: ToolArgumentParameters): ToolRules {
  const isListed = allowedTools === undefined ? () => true : nameMatcher(allowedTools);
  const isBlocked = nameMatcher(blockedTools);
  return {
    isAllowed: (tool) => isListed(tool) && !isBlocked(tool),
    rules: rules.map((rule) => {
      const steps = parseJsonPath(rule.path);
      if (steps === null) throw new Error('the path is not valid');
      return { ...rule, steps, covers: nameMatcher(rule.tools ?? ['*']) };
    }),
  };
}

/** Names may contain `*` for any characters. */
function nameMatcher(names: readonly string[]): (tool: string) => boolean {
  const exact = new Set(names.filter((name) => !name.includes('*')));
  const parts = names.filter((name) => name.includes('*')).map((name) => name.split('*'));
  return (tool) => exact.has(tool) || parts.some((pieces) => matchesPieces(tool, pieces));
}

function matchesPieces(tool: string, pieces: readonly string[]): boolean {
  const last = pieces.at(-1)!;
  if (!tool.startsWith(pieces[0]!)) return false;
  let from = pieces[0]!.length;
  for (const piece of pieces.slice(1, -1)) {
    const at = tool.indexOf(piece, from);
    if (at === -1) return false;
    from = at + piece.length;
  }
  return tool.length - last.length >= from && tool.endsWith(last);
}

export type CallVerdict =
  | { readonly kind: 'passed' }
  /** `reason` names the tool and the rule, not the value. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'unjudged'; readonly reason: string };

const passed: CallVerdict = { kind: 'passed' };

export async function judgeToolCall(
  call: ToolCall,
  { isAllowed, rules }: ToolRules,
  find: FindPattern,
): Promise<CallVerdict> {
  const name = call.tool.slice(0, 64);
  if (!isAllowed(call.tool)) return { kind: 'failed', reason: `the tool ${name} is not allowed` };
  const covering = rules.filter(({ covers }) => covers(call.tool));
  if (covering.length === 0) return passed;
  const document = argumentsOf(call);
  if (document === null || (await isAmbiguous(call.input))) {
    return { kind: 'unjudged', reason: `the arguments of ${name} are not one JSON object` };
  }
  for (const [at, rule] of covering.entries()) {
    const values = valuesAtPath(document, rule.steps, valuesMax);
    if (values === null) {
      return { kind: 'unjudged', reason: `the arguments of ${name} have too many values` };
    }
    const reason = `the arguments of ${name} break the rule ${at + 1} for ${rule.path}`;
    if (values.length === 0 && rule.required === true) return { kind: 'failed', reason };
    for (const value of values) {
      if (!(await isValueAllowed(value, rule, find))) return { kind: 'failed', reason };
    }
  }
  return passed;
}

/** Whether readers of JSON could read different values. */
function isAmbiguous(input: unknown): boolean | Promise<boolean> {
  if (typeof input !== 'string' || input === '') return false;
  return run(findDuplicateKeys(Buffer.from(input)), input.length >= longLengthMin);
}

/** Without patterns, a rule forbids that the value exists unless it only requires it. */
async function isValueAllowed(
  value: unknown,
  { allow, deny, required }: WrittenRule,
  find: FindPattern,
): Promise<boolean> {
  if (allow === undefined && deny === undefined) return required === true;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  for (const pattern of deny ?? []) if (await find(pattern, text)) return false;
  if (allow === undefined) return true;
  for (const pattern of allow) if (await find(pattern, text)) return true;
  return false;
}
