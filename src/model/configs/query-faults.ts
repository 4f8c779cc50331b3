/** Validates the queries of conditions: their subjects, operators and patterns. */
import { didYouMean } from '../../suggest.ts';
import type { PatternChecker } from '../patterns/pattern-checker.ts';
import type { Fault } from '../wire/fault.ts';

const queryPartsMax = 1000;

const operators = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'regex'].map(
  (word) => `$${word}`,
);
const joins = ['$and', '$or'];
const subjects = ['metadata.', 'params.', 'url.pathname'];

type Path = (string | number)[];

/** A part of a query that is still to be validated. */
interface Part {
  readonly value: unknown;
  readonly path: Path;
  /** Whether it is a query, whose keys are subjects, or what one subject is compared with. */
  readonly form: 'query' | 'comparison';
}

/** A query that names no subject or operator never matches, so it is a fault. Paths start at the query. */
export function queryFaults(query: Record<string, unknown>, patterns: PatternChecker): Fault[] {
  const faults: Fault[] = [];
  const pending: Part[] = [{ value: query, path: [], form: 'query' }];
  let parts = 0;
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    const { value, path, form } = part;
    if (Array.isArray(value)) {
      faults.push({ path, message: 'must be one value; write {"$in": […]} for several' });
      continue;
    }
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, item] of Object.entries(value)) {
      const itemPath = [...path, key];
      parts += Array.isArray(item) ? item.length : 1;
      if (parts > queryPartsMax) return [{ path: [], message: 'is too large' }];
      const message =
        form === 'query' ? subjectFault(key, item) : comparisonFault(key, item, patterns);
      if (message !== null) faults.push({ path: itemPath, message });
      if (form === 'query') pending.push(...partsBelow(key, item, itemPath));
    }
  }
  return faults;
}

function partsBelow(key: string, item: unknown, path: Path): Part[] {
  if (!joins.includes(key)) {
    return key.startsWith('$') ? [] : [{ value: item, path, form: 'comparison' }];
  }
  return (Array.isArray(item) ? (item as unknown[]) : []).map((value, at) => ({
    value,
    path: [...path, at],
    form: 'query',
  }));
}

function subjectFault(key: string, item: unknown): string | null {
  if (joins.includes(key)) {
    const isList = Array.isArray(item) && item.every((one) => typeof one === 'object' && one);
    return isList ? null : 'must be a list of queries';
  }
  if (key.startsWith('$')) {
    const hint = didYouMean(key, joins);
    return `is not a known operator${hint === undefined ? '' : `; ${hint}`}`;
  }
  const isKnown = subjects.some((one) =>
    one.endsWith('.') ? key.startsWith(one) && key.length > one.length : key === one,
  );
  return isKnown ? null : `is no value of a request; ${subjectHint(key)}`;
}

function subjectHint(key: string): string {
  const [source = '', ...name] = key.split('.');
  const near = didYouMean(
    key,
    ['metadata', 'params'].map((one) => [one, ...name].join('.')).concat('url.pathname'),
  );
  if (near !== undefined && source !== '') return near;
  return 'name metadata.KEY, params.KEY or url.pathname';
}

function comparisonFault(key: string, item: unknown, patterns: PatternChecker): string | null {
  if (!operators.includes(key)) {
    const hint = didYouMean(key, operators) ?? didYouMean(`$${key}`, operators);
    return `is not a known operator${hint === undefined ? '' : `; ${hint}`}`;
  }
  if (key !== '$regex') return null;
  return typeof item === 'string' ? patterns.regexFault(item) : 'must be a string';
}
