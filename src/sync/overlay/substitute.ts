/**
 * Replaces `${VAR}` and `${values.x}` in manifests after parsing, so that a value never becomes
 * structure.
 */

import type { Position } from '../resources/resource-set.ts';
import { SealedValue } from '../sops/sealed-value.ts';
import { isMap } from '../yaml/map-fields.ts';
import { pathKey, type VariableReplacements } from '../yaml/source-place.ts';
import type { Segments } from '../yaml/yaml-position.ts';
import { putInMebibytesMax, type SubstitutionBudget } from './substitution-budget.ts';

/** Why manifests may not read a variable, and how to resolve it. */
interface VariableRefusal {
  readonly message: string;
  readonly fix: string;
}

/** Looks up an environment variable; undefined when not set, a refusal when it is not permitted. */
export type VariableLookup = (name: string) => string | undefined | VariableRefusal;

/** The values of the selected environment. */
export interface EnvironmentValues {
  /** Returns the value at a path; null and undefined both mean none. */
  look(path: Segments): unknown;
  positionOf(path: Segments): Position;
  /** Shared by everything that is put in. */
  readonly budget: SubstitutionBudget;
  /** Describes how to add a missing value. */
  advice(path: Segments): string;
}

/** The sources of `${…}`. */
export interface Variables {
  readonly environment: VariableLookup;
  readonly values: EnvironmentValues;
  /** Only values of the environment are put in; variables in specs stay as written. */
  readonly leavesVariables?: boolean | undefined;
}

interface SubstitutionFault {
  /** Path of the value. */
  readonly segments: readonly string[];
  readonly code:
    | 'variable-unset'
    | 'variable-syntax'
    | 'variable-refused'
    | 'variable-type'
    | 'variable-size';
  readonly message: string;
  readonly fix: string;
}

export interface SubstitutionResult extends VariableReplacements {
  readonly value: unknown;
  readonly faults: readonly SubstitutionFault[];
}

/**
 * Returns a copy of a document with each `${VAR}`, `${VAR:-default}` and `${VAR:?message}` in its
 * texts replaced; `$${` is a literal `${`. As in a shell, `:-` and `:?` also apply to an empty
 * variable. `${values.x}` reads a value of the environment; as the whole text it may be a map or
 * list too. Keys stay unchanged.
 */
export function substitute(document: unknown, variables: Variables): SubstitutionResult {
  const substitution = new Substitution(variables);
  const value = substitution.visit(document, []);
  const { whole, values, faults } = substitution;
  return { value, whole, values, faults };
}

const wholeVariable = /^\$\{[^}]*\}$/;
/** `values.limits.requests` */
const valuePath = String.raw`values(?:\.[A-Za-z0-9_-]+)+`;
/** An escape, a variable or value with operator and operand, or an invalid `${`. */
export const expression = new RegExp(
  String.raw`\$\$\{|\$\{(${valuePath}|[A-Za-z_][A-Za-z0-9_]*)(?:(:-|:\?)([^}]*))?\}|\$\{`,
  'g',
);
export const wholeValue = new RegExp(String.raw`^\$\{(${valuePath})(?:(:-|:\?)[^}]*)?\}$`);

class Substitution {
  readonly whole = new Set<string>();
  readonly values = new Map<string, (below: Segments) => Position>();
  readonly faults: SubstitutionFault[] = [];
  readonly #variables: Variables;

  constructor(variables: Variables) {
    this.#variables = variables;
  }

  visit(value: unknown, segments: readonly string[]): unknown {
    if (typeof value === 'string')
      return value.includes('${') ? this.#text(value, segments) : value;
    if (Array.isArray(value))
      return value.map((item, at) => this.visit(item, [...segments, `${at}`]));
    if (typeof value !== 'object' || value === null || value instanceof SealedValue) return value;
    const copies = Object.entries(value).map(
      ([key, item]) => [key, this.visit(item, [...segments, key])] as const,
    );
    return Object.fromEntries(copies);
  }

  #text(text: string, segments: readonly string[]): unknown {
    const [, path, operator] = wholeValue.exec(text) ?? [];
    if (path !== undefined) {
      const found = this.#look(path, segments);
      // Only here null differs from a missing value: null clears a field.
      const isThere = found !== undefined && (operator === undefined || !isEmpty(found));
      if (isThere) return isMap(found) || Array.isArray(found) ? structuredClone(found) : found;
    }
    if (wholeVariable.test(text)) this.whole.add(pathKey(segments));
    return text.replace(expression, (match, name?: string, operator?: string, operand?: string) => {
      if (match === '$${') return '${';
      if (name !== undefined) return this.#variable(name, operator, operand, segments);
      const fix = `write \${NAME}, or $\${ for a literal \${`;
      this.#fault(segments, 'variable-syntax', 'this ${ does not start a variable', fix);
      return match;
    });
  }

  #variable(
    name: string,
    operator: string | undefined,
    operand: string | undefined,
    segments: readonly string[],
  ): string {
    const isValue = name.includes('.');
    const found = isValue ? this.#look(name, segments) : this.#variables.environment(name);
    if (!isValue && typeof found === 'object') {
      const { message, fix } = found as VariableRefusal;
      this.#fault(segments, 'variable-refused', message, fix);
      return '';
    }
    if (typeof found === 'object' && found !== null) {
      const message = `${name} is a ${Array.isArray(found) ? 'list' : 'map'}, which cannot be part of a text`;
      this.#fault(segments, 'variable-type', message, `write \${${name}} alone`);
      return '';
    }
    if (found !== undefined && found !== null && (found !== '' || operator === undefined)) {
      return String(found);
    }
    if (operator === ':-') return operand ?? '';
    this.#refuseUnset(name, found, operand, segments);
    return '';
  }

  #refuseUnset(
    name: string,
    found: unknown,
    operand: string | undefined,
    segments: readonly string[],
  ): void {
    const reason = operand === undefined || operand === '' ? '' : `: ${operand}`;
    const state = found === undefined ? 'not set' : 'empty';
    const isValue = name.includes('.');
    const what = isValue ? `the value ${name}` : `the environment variable ${name}`;
    const advice = isValue ? this.#variables.values.advice(valuePathOf(name)) : 'set it';
    const fix = `${advice}, or set a default: \${${name}:-value}`;
    this.#fault(segments, 'variable-unset', `${what} is ${state}${reason}`, fix);
  }

  #look(name: string, segments: readonly string[]): unknown {
    const path = valuePathOf(name);
    const { values } = this.#variables;
    const found = values.look(path);
    if (found !== undefined && !values.budget.take(found)) {
      const message = `values exceed ${putInMebibytesMax} MiB in all manifests`;
      const fix = 'write large values into one manifest, or use them in fewer places';
      this.#fault(segments, 'variable-size', message, fix);
      return '';
    }
    const key = pathKey(segments);
    if (found !== undefined && !this.values.has(key)) {
      this.values.set(key, (below) => values.positionOf([...path, ...below]));
    }
    return found;
  }

  #fault(
    segments: readonly string[],
    code: SubstitutionFault['code'],
    message: string,
    fix: string,
  ): void {
    this.faults.push({ segments, code, message, fix });
  }
}

function isEmpty(value: unknown): boolean {
  return value === null || value === '';
}

/** Keys below `values`. */
export function valuePathOf(name: string): string[] {
  return name.split('.').slice(1);
}

const integer = /^[-+]?\d+$/;
const decimal = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;

/** Converts text as YAML reads it unquoted, where the schema requires a number or a boolean. */
export function toScalar(text: string): number | boolean | string {
  if (text === 'true' || text === 'false') return text === 'true';
  return integer.test(text) || decimal.test(text) ? Number(text) : text;
}
