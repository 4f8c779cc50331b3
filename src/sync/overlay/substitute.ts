/** Knows `${VAR}` in manifests: put into values after parsing, so that a value can never become structure. */
import { SealedValue } from '../sops/sealed-value.ts';

/** Why manifests may not read a variable, and what to do. */
interface VariableRefusal {
  readonly message: string;
  readonly fix: string;
}

/** Looks up one environment variable; undefined when it is not set, a refusal when it is none of ours. */
export type Environment = (name: string) => string | undefined | VariableRefusal;

interface SubstitutionFault {
  /** Keys that lead to the value. */
  readonly segments: readonly string[];
  readonly code: 'variable-unset' | 'variable-syntax' | 'variable-refused';
  readonly message: string;
  readonly fix: string;
}

export interface Substituted {
  readonly value: unknown;
  readonly faults: readonly SubstitutionFault[];
  /** Places (keys joined by NUL) whose whole value was one variable: the schema decides on their type. */
  readonly whole: ReadonlySet<string>;
}

export function placeKey(segments: readonly (string | number)[]): string {
  return segments.join('\u0000');
}

/**
 * A copy of a document with each `${VAR}`, `${VAR:-default}` and `${VAR:?message}` in its text
 * values replaced; `$${` stands for a literal `${`. As in a shell, `:-` and `:?` also cover a
 * variable that is set but empty. Keys are left alone.
 */
export function substitute(document: unknown, environment: Environment): Substituted {
  const faults: SubstitutionFault[] = [];
  const whole = new Set<string>();
  const visit = (value: unknown, segments: readonly string[]): unknown => {
    if (typeof value === 'string') {
      if (!value.includes('${')) return value;
      if (wholeVariable.test(value)) whole.add(placeKey(segments));
      return replaceAll(value, environment, (fault) => faults.push({ ...fault, segments }));
    }
    if (Array.isArray(value)) return value.map((item, at) => visit(item, [...segments, `${at}`]));
    if (typeof value !== 'object' || value === null) return value;
    if (value instanceof SealedValue) return value;
    const copies = Object.entries(value).map(
      ([key, item]) => [key, visit(item, [...segments, key])] as const,
    );
    return Object.fromEntries(copies);
  };
  return { value: visit(document, []), faults, whole };
}

const wholeVariable = /^\$\{[^}]*\}$/;
/** An escape, a variable with its operator and operand, or a `${` that is neither. */
const expression = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?:(:-|:\?)([^}]*))?\}|\$\{/g;

type UnplacedFault = Omit<SubstitutionFault, 'segments'>;

function replaceAll(
  text: string,
  environment: Environment,
  report: (fault: UnplacedFault) => void,
): string {
  return text.replace(expression, (match, name?: string, operator?: string, operand?: string) => {
    if (match === '$${') return '${';
    if (name === undefined) {
      report({
        code: 'variable-syntax',
        message: 'this ${ begins no variable',
        fix: `write \${NAME}, or $\${ for a literal \${`,
      });
      return match;
    }
    const value = environment(name);
    if (typeof value === 'object') {
      report({ code: 'variable-refused', ...value });
      return '';
    }
    if (value !== undefined && (value !== '' || operator === undefined)) return value;
    if (operator === ':-') return operand ?? '';
    const reason = operand === undefined || operand === '' ? '' : `: ${operand}`;
    const state = value === undefined ? 'not set' : 'empty';
    report({
      code: 'variable-unset',
      message: `the environment variable ${name} is ${state}${reason}`,
      fix: `set it, or give a default: \${${name}:-value}`,
    });
    return '';
  });
}

const integer = /^[-+]?\d+$/;
const decimal = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;

/** The text as YAML would read it unquoted, where the schema wants a number or a boolean. */
export function toScalar(text: string): number | boolean | string {
  if (text === 'true' || text === 'false') return text === 'true';
  return integer.test(text) || decimal.test(text) ? Number(text) : text;
}
