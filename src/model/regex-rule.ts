/** Knows which regular expressions are accepted: those that a linear-time engine can run. */
import { RE2JS, RE2JSSyntaxException } from 're2js';

const patternLengthMax = 1024;

/** `\k<name>` whose backslash is not itself escaped. */
const namedReference = /(?<!\\)(?:\\\\)*\\k</;

/** What people are used to from backtracking engines. */
const refusedKinds = [
  { mark: /\(\?<?[=!]/, hint: 'look-around is not supported' },
  { mark: /\\[1-9]/, hint: 'backreferences are not supported' },
];

/** `/pattern/flags`, as replace rules may be written. */
const delimited = /^\/(.+)\/([a-z]*)$/s;

/**
 * What is wrong with a pattern, or null. Look-around and backreferences are refused, because they
 * cannot be matched in time linear to the text and so would let one prompt stop the gateway.
 */
export function regexFault(pattern: string): string | null {
  if (pattern.length > patternLengthMax) {
    return `must have at most ${patternLengthMax} characters`;
  }
  // The engine would take it for a plain k.
  if (namedReference.test(pattern)) return refusal('backreferences are not supported');
  try {
    RE2JS.compile(RE2JS.translateRegExp(pattern));
    return null;
  } catch (error) {
    const hint = refusedKinds.find(({ mark }) => mark.test(pattern))?.hint ?? reasonOf(error);
    return refusal(hint);
  }
}

function refusal(reason: string): string {
  return `is not a usable regular expression (${reason})`;
}

/** Without the piece of the pattern that the engine quotes. */
function reasonOf(error: unknown): string {
  return error instanceof RE2JSSyntaxException ? error.error : 'it cannot be compiled';
}

/** As {@link regexFault} for a rule that may be written `/pattern/flags`. */
export function replaceRuleFault(rule: string): string | null {
  const parts = delimited.exec(rule);
  if (parts === null) return regexFault(rule);
  const flags = parts[2]!;
  if (!/^[gimsuy]*$/.test(flags)) return 'has unknown flags after the last slash';
  return regexFault(parts[1]!);
}
