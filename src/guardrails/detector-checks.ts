/** Implements the checks whose detectors this program contains. */
import { embeddedPiiCategories, type PiiCategory } from '../model/guardrails/pii-categories.ts';
import { CheckError, type CheckRunner } from './check.ts';
import {
  loadedPiiRules,
  loadPiiRules,
  type PiiRules,
  piiSearch,
} from './detectors/pii/find-pii.ts';
import {
  loadedProfanitySearch,
  loadProfanitySearch,
} from './detectors/profanity/find-profanity.ts';
import {
  loadedSecretRules,
  loadSecretRules,
  secretSearch,
} from './detectors/secrets/find-secrets.ts';
import type { SecretRuleData } from './detectors/secrets/secret-rule.ts';
import type { SpanSearch } from './detectors/span.ts';
import { injection } from './injection-check.ts';
import { gibberish, language } from './prose-checks.ts';
import type { Searches } from './searches.ts';
import { spanCheck } from './span-check.ts';

type Parameters = Readonly<Record<string, unknown>>;
type CheckFactory = (parameters: Parameters, searches: Searches) => CheckRunner;

const embedded: ReadonlySet<string> = new Set(embeddedPiiCategories);

/** Finds personal data with detectors alone. */
export function personalData({ categories, redact, not }: Parameters): CheckRunner {
  const names = categories === undefined ? embedded : new Set(categories as readonly string[]);
  // Rows of older versions can name categories that only a model recognises.
  const unknown = [...names].filter((name) => !embedded.has(name));
  if (unknown.length > 0) {
    return () => {
      throw new CheckError(`only a mounted model recognises ${unknown.join(', ')}`);
    };
  }
  let search: SpanSearch | undefined;
  const searchOf = (rules: PiiRules): SpanSearch => {
    search ??= piiSearch(names as ReadonlySet<PiiCategory>, rules);
    return search;
  };
  return spanCheck({
    load: () => {
      const rules = loadedPiiRules();
      return rules === undefined ? loadPiiRules().then(searchOf) : searchOf(rules);
    },
    subject: 'personal data',
    isRedacting: redact === true,
    not,
    placeholder: (label, number) => `{{${label}_${number}}}`,
  });
}

const secrets: CheckFactory = ({ redact, exclude = [], generic }) => {
  let search: SpanSearch | undefined;
  const searchOf = (rules: SecretRuleData): SpanSearch => {
    search ??= secretSearch(rules, exclude as readonly string[], generic === true);
    return search;
  };
  return spanCheck({
    load: () => {
      const rules = loadedSecretRules();
      return rules === undefined ? loadSecretRules().then(searchOf) : searchOf(rules);
    },
    subject: 'secrets',
    isRedacting: redact === true,
    not: false,
    placeholder: (label, number) => `{{${label.toUpperCase().replaceAll('-', '_')}_${number}}}`,
  });
};

const profanity: CheckFactory = ({ redact, not }) =>
  spanCheck({
    load: () => loadedProfanitySearch() ?? loadProfanitySearch(),
    subject: 'profanity',
    isRedacting: redact === true,
    not,
    placeholder: () => '***',
  });

/** By id in lower case. */
export const detectorChecks: Readonly<Record<string, CheckFactory>> = {
  'portkey.pii': personalData,
  'gatewright.pii': personalData,
  'gatewright.secrets': secrets,
  'gatewright.profanity': profanity,
  'gatewright.injection': injection,
  'portkey.language': language,
  'portkey.gibberish': gibberish,
};
