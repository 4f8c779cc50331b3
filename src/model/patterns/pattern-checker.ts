/** Checks regular expressions: only those that a linear-time engine runs, at a bounded cost, are accepted. */
import { RE2JS, RE2JSSyntaxException } from 're2js';
import { patternCost } from './pattern-cost.ts';

const patternLengthMax = 1024;
/** Maximum cost of compiling one pattern, in steps of {@link patternCost}. */
const patternStepsMax = 5000;
/** Maximum cost of compiling all patterns of one document, so that it does not block other requests. */
const documentStepsMax = 15_000;

/** Steps charged for a pattern that turns out to be invalid, in addition to those of its text. */
const refusalSteps = 100;

/** `\k<name>` whose backslash is not itself escaped. */
const namedReference = /(?<!\\)(?:\\\\)*\\k</;

/** Features of backtracking engines that users expect. */
const refusedKinds = [
  { mark: /\(\?<?[=!]/, hint: 'look-around is not supported' },
  { mark: /\\[1-9]/, hint: 'backreferences are not supported' },
];

/** `/pattern/flags`, as replace rules may be written. */
const delimited = /^\/(.+)\/([a-z]*)$/s;

/**
 * Checks the patterns of one document. The cost of each is estimated before it is compiled. A repeated
 * pattern is compiled once. Once the document's budget is used up, no further pattern is compiled.
 */
export class PatternChecker {
  readonly #faults = new Map<string, string | null>();
  #stepsLeft = documentStepsMax;

  /**
   * Returns why a pattern is rejected, or null. Look-around and backreferences are rejected because
   * they cannot be matched in time linear to the text, so that one prompt could stop the gateway.
   */
  regexFault(pattern: string): string | null {
    if (pattern.length > patternLengthMax) {
      return `must have at most ${patternLengthMax} characters`;
    }
    return this.#faultOf(pattern, '');
  }

  /** Like {@link regexFault}, for a rule that may be written `/pattern/flags`; flags add to its cost. */
  replaceRuleFault(rule: string): string | null {
    // Longer than any pattern with its flags; regexFault reports the length.
    if (rule.length > 2 * patternLengthMax) return this.regexFault(rule);
    const parts = delimited.exec(rule);
    if (parts === null) return this.regexFault(rule);
    const [, pattern = '', flags = ''] = parts;
    if (!/^[gimsuy]*$/.test(flags)) return 'has unknown flags after the last slash';
    if (pattern.length > patternLengthMax) return this.regexFault(pattern);
    return this.#faultOf(pattern, [...'ims'].filter((flag) => flags.includes(flag)).join(''));
  }

  #faultOf(pattern: string, flags: string): string | null {
    const whole = flags === '' ? pattern : `(?${flags})${pattern}`;
    const earlier = this.#faults.get(whole);
    if (earlier !== undefined) return earlier;
    const fault = this.#check(whole);
    this.#faults.set(whole, fault);
    return fault;
  }

  #check(pattern: string): string | null {
    // The engine would read it as a plain k.
    if (namedReference.test(pattern)) return refusal('backreferences are not supported');
    if (this.#stepsLeft <= 0) return tooMuch;
    const translated = RE2JS.translateRegExp(pattern);
    const steps = patternCost(translated);
    if (steps > patternStepsMax) {
      // Estimating the cost is work, too.
      this.#stepsLeft -= pattern.length;
      return `needs ${steps} steps to compile, more than the ${patternStepsMax} allowed: shorten its repetitions, since each copy counts`;
    }
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0) return tooMuch;
    const fault = compileFault(translated, pattern);
    if (fault !== null) this.#stepsLeft -= refusalSteps;
    return fault;
  }
}

const tooMuch = `exceeds the ${documentStepsMax} steps that compiling all patterns of one document may take`;

function compileFault(translated: string, pattern: string): string | null {
  try {
    RE2JS.compile(translated);
    return null;
  } catch (error) {
    const hint = refusedKinds.find(({ mark }) => mark.test(pattern))?.hint ?? reasonOf(error);
    return refusal(hint);
  }
}

function refusal(reason: string): string {
  return `is not a supported regular expression (${reason})`;
}

/** The reason without the part of the pattern that the engine quotes. */
function reasonOf(error: unknown): string {
  return error instanceof RE2JSSyntaxException ? error.error : 'it cannot be compiled';
}
