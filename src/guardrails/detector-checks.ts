/** Implements the checks whose detectors this program contains. */
import { embeddedPiiCategories, type PiiCategory } from '../model/guardrails/pii-categories.ts';
import { CheckError, type CheckRunner } from './check.ts';
import {
  loadedPiiRules,
  loadPiiRules,
  type PiiRules,
  piiFinder,
  piiMargin,
} from './detectors/pii/find-pii.ts';
import type { Searches } from './searches.ts';
import { type SpanDetector, spanCheck } from './span-check.ts';

type Parameters = Readonly<Record<string, unknown>>;
type CheckFactory = (parameters: Parameters, searches: Searches) => CheckRunner;

const embedded: ReadonlySet<string> = new Set(embeddedPiiCategories);

const pii: CheckFactory = ({ categories, redact, not }) => {
  const names = categories === undefined ? embedded : new Set(categories as readonly string[]);
  // Rows of older versions can name categories that only a model recognises.
  const unknown = [...names].filter((name) => !embedded.has(name));
  if (unknown.length > 0) {
    return () => {
      throw new CheckError(`this gateway has no model that recognises ${unknown.join(', ')}`);
    };
  }
  let detector: SpanDetector | undefined;
  const detectorOf = (rules: PiiRules): SpanDetector => {
    detector ??= { find: piiFinder(names as ReadonlySet<PiiCategory>, rules), margin: piiMargin };
    return detector;
  };
  return spanCheck({
    load: () => {
      const rules = loadedPiiRules();
      return rules === undefined ? loadPiiRules().then(detectorOf) : detectorOf(rules);
    },
    subject: 'personal data',
    isRedacting: redact === true,
    not,
    placeholder: (label, number) => `{{${label}_${number}}}`,
  });
};

/** By id in lower case. */
export const detectorChecks: Readonly<Record<string, CheckFactory>> = {
  'portkey.pii': pii,
  'gatewright.pii': pii,
};
