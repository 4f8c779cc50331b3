/** Knows which regular expressions are accepted: those that a linear-time engine can run, at a bounded cost. */
import { RE2JS, RE2JSSyntaxException } from 're2js';
import { patternCost } from './pattern-cost.ts';

const patternLengthMax = 1024;
/** What compiling one pattern may cost, in the steps of {@link patternCost}. */
const patternStepsMax = 5000;
/** What compiling the patterns of one document may cost together, so that it holds nobody up. */
const documentStepsMax = 15_000;

/** What it takes to find that a text is no pattern, beyond the steps of its text. */
const refusalSteps = 100;

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
 * Judges the patterns of one document. Each is measured by its text before it is compiled; one that
 * repeats is compiled once; once together they cost too much, none of those that follow is.
 */
export class PatternJudge {
  readonly #judged = new Map<string, string | null>();
  #stepsLeft = documentStepsMax;

  /**
   * What is wrong with a pattern, or null. Look-around and backreferences are refused, because they
   * cannot be matched in time linear to the text and so would let one prompt stop the gateway.
   */
  regexFault(pattern: string): string | null {
    if (pattern.length > patternLengthMax) {
      return `must have at most ${patternLengthMax} characters`;
    }
    return this.#faultOf(pattern, '');
  }

  /** As {@link regexFault} for a rule that may be written `/pattern/flags`; flags make it cost more. */
  replaceRuleFault(rule: string): string | null {
    // Longer than any pattern with its flags; the length is told below.
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
    const known = this.#judged.get(whole);
    if (known !== undefined) return known;
    const fault = this.#judge(whole);
    this.#judged.set(whole, fault);
    return fault;
  }

  #judge(pattern: string): string | null {
    // The engine would take it for a plain k.
    if (namedReference.test(pattern)) return refusal('backreferences are not supported');
    if (this.#stepsLeft <= 0) return tooMuch;
    const translated = RE2JS.translateRegExp(pattern);
    const steps = patternCost(translated);
    if (steps > patternStepsMax) {
      // To measure it was work, too.
      this.#stepsLeft -= pattern.length;
      return `costs ${steps} steps to compile, where ${patternStepsMax} are allowed: shorten its repetitions, as each counts for every copy`;
    }
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0) return tooMuch;
    const fault = compileFault(translated, pattern);
    if (fault !== null) this.#stepsLeft -= refusalSteps;
    return fault;
  }
}

const tooMuch = `is one pattern too many: those of one document may cost ${documentStepsMax} steps to compile together`;

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
  return `is not a usable regular expression (${reason})`;
}

/** Without the piece of the pattern that the engine quotes. */
function reasonOf(error: unknown): string {
  return error instanceof RE2JSSyntaxException ? error.error : 'it cannot be compiled';
}
